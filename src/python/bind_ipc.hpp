// SPDX-License-Identifier: Apache-2.0
// Python bindings of memory shared between processes, and of registered host memory.
#pragma once

#include "python/bind.hpp"

namespace sycl_ext {

void bind_ipc(py::module_& m);

}  // namespace sycl_ext
