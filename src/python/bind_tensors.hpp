// SPDX-License-Identifier: Apache-2.0
// Python bindings of tensors, their memory, and copies.
#pragma once

#include "python/bind.hpp"

namespace sycl_ext {

void bind_tensors(py::module_& m);

}  // namespace sycl_ext
