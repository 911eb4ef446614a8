// SPDX-License-Identifier: Apache-2.0
// Memory that is shared between processes, and host memory that a driver knows, for Python.
#pragma once

#include "python/bind.hpp"

namespace sycl_ext {

void bind_ipc(py::module_& m);

}  // namespace sycl_ext
