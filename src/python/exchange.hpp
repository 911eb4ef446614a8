// SPDX-License-Identifier: Apache-2.0
// The first attempt of `exchange`, by a kept decision.
#pragma once

#include "python/decisions.hpp"

namespace sycl_ext {

// The result of the consumer; nullptr with an exception set, or another exception.
//
// The core passes a view, and calls the consumer.  Python makes the attempts with a copy, and the
// attempts after a refusal (sycl_ext/_exchange/carry_out.py).
PyObject* exchange(PyObject* x, const ExchangeRequest& request);

}  // namespace sycl_ext
