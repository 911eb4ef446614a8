// SPDX-License-Identifier: Apache-2.0
// What a class, or one that it is made from, has under a name.
#pragma once

#include <Python.h>

#include "python/gil.hpp"

namespace sycl_ext {

struct Found {
  PyObject* value;   // borrowed; nullptr: no class has the name
  Py_ssize_t place;  // of the first class that has it in the order of resolution, or their number
};

// Runs no descriptor and no __getattr__.
inline Found find_in_type(PyTypeObject* type, PyObject* name) noexcept {
  PyObject* const classes = type->tp_mro;
  const Py_ssize_t count = classes ? PyTuple_GET_SIZE(classes) : 0;
  for (Py_ssize_t place = 0; place < count; ++place) {
    auto* const one = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(classes, place));
#if PY_VERSION_HEX >= 0x030C0000
    const PyRef dict(PyType_GetDict(one));
    PyObject* const value = dict ? PyDict_GetItemWithError(dict.get(), name) : nullptr;
#else
    PyObject* const value = one->tp_dict ? PyDict_GetItemWithError(one->tp_dict, name) : nullptr;
#endif
    if (value) return {value, place};
  }
  if (PyErr_Occurred()) PyErr_Clear();  // of a key that cannot be compared
  return {nullptr, count};
}

}  // namespace sycl_ext
