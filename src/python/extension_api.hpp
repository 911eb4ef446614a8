// SPDX-License-Identifier: Apache-2.0
// The C table for extensions (sycl_ext/include/sycl_ext/c_api.h): the device table, views of
// memory, and the way back to Python, behind function pointers and plain types.
#pragma once

#include <Python.h>

namespace sycl_ext {

// A new capsule over the table.
PyObject* extension_api_capsule();

}  // namespace sycl_ext
