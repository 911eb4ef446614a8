// SPDX-License-Identifier: Apache-2.0
// The buffer protocol of the tensor type (https://docs.python.org/3/c-api/buffer.html).
#pragma once

#include <Python.h>

namespace sycl_ext {

// The slots Py_bf_getbuffer and Py_bf_releasebuffer.  Pending work is waited for; signals are
// handled after that.
int get_buffer(PyObject* self, Py_buffer* view, int flags);
void release_buffer(PyObject* self, Py_buffer* view);

}  // namespace sycl_ext
