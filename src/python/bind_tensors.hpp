// SPDX-License-Identifier: Apache-2.0
// Tensors, their memory and copies of it, for Python.
#pragma once

#include "python/bind.hpp"

namespace sycl_ext {

void bind_tensors(py::module_& m);

}  // namespace sycl_ext
