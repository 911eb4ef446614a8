// SPDX-License-Identifier: Apache-2.0
// Tensors for readers on the host: the buffer protocol, and numpy.ndarray objects, made through
// NumPy's C API (which is found at run time, so no NumPy headers are needed, and every NumPy since
// 1.26 is served, ml_dtypes included).
#pragma once

#include <Python.h>

namespace sycl_ext {

// The slots Py_bf_getbuffer and Py_bf_releasebuffer.  Pending work is waited for; signals are
// handled after that.
int get_buffer(PyObject* self, Py_buffer* view, int flags);
void release_buffer(PyObject* self, Py_buffer* view);

// Finds NumPy's C API, when the core is loaded; false, with an exception set: there is none.
bool load_numpy();

PyTypeObject* ndarray_type();  // borrowed

// A new array over the memory of a tensor object that the host can reach; the object becomes its
// base.  Throws exceptions that the bindings translate.
PyObject* ndarray_over(PyObject* tensor_object);

}  // namespace sycl_ext
