// SPDX-License-Identifier: Apache-2.0
// The C exchange table (DLPack 1.3) of this package's types, `__dlpack_c_exchange_api__`.
#pragma once

#include <Python.h>

namespace sycl_ext {

// A new capsule over that table.
PyObject* exchange_api_capsule();

}  // namespace sycl_ext
