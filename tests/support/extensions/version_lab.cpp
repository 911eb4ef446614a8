// SPDX-License-Identifier: Apache-2.0
// An extension that does nothing but meet the C table, as every extension does at its import.
#include <sycl_ext/core.hpp>

#define LAB_JOIN(a, b) a##b
#define LAB_INIT(name) LAB_JOIN(PyInit_, name)

PyMODINIT_FUNC LAB_INIT(LAB_NAME)() {
  static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                   "version_lab",
                                   nullptr,
                                   -1,
                                   nullptr,
                                   nullptr,
                                   nullptr,
                                   nullptr,
                                   nullptr};
  try {
    sycl_ext::api();
  } catch (const sycl_ext::python_error&) {
    return nullptr;
  }
  return PyModule_Create(&definition);
}
