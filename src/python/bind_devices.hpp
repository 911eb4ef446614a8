// SPDX-License-Identifier: Apache-2.0
// Python bindings of queues and of the entries of the device table.
#pragma once

#include "python/bind.hpp"

namespace sycl_ext {

void bind_devices(py::module_& m);

}  // namespace sycl_ext
