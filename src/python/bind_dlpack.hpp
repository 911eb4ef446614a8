// SPDX-License-Identifier: Apache-2.0
// Python bindings of capsules and of the C exchange table.
#pragma once

#include "python/bind.hpp"

namespace sycl_ext {

void bind_dlpack(py::module_& m);

}  // namespace sycl_ext
