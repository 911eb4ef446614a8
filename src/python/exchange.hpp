// SPDX-License-Identifier: Apache-2.0
// `exchange`: views by a kept decision; Python makes everything else.
#pragma once

#include "python/decisions.hpp"

namespace sycl_ext {

// The result of the consumer; nullptr with an exception set, or another exception.
//
// The core passes a view, and calls the library.  Python makes the attempts with a copy, the
// attempts after a refusal, and the calls of unknown functions (sycl_ext/_exchange/run.py).
PyObject* exchange(PyObject* x, const ExchangeRequest& request);

// Error(copy_refused) if a library's array is not at the address of what it was handed.  Its
// contents are not read, and an object without memory is accepted.
void require_same_memory(PyObject* array, PyObject* handed);

}  // namespace sycl_ext
