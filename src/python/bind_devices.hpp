// SPDX-License-Identifier: Apache-2.0
// Queues and entries of the device table, for Python.
#pragma once

#include "python/bind.hpp"

namespace sycl_ext {

void bind_devices(py::module_& m);

}  // namespace sycl_ext
