// SPDX-License-Identifier: Apache-2.0
// Capsules and the C exchange table, for Python.
#pragma once

#include "python/bind.hpp"

namespace sycl_ext {

void bind_dlpack(py::module_& m);

}  // namespace sycl_ext
