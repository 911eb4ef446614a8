// SPDX-License-Identifier: Apache-2.0
// The buffer protocol of the tensor type (https://docs.python.org/3/c-api/buffer.html).
#pragma once

#include <Python.h>

namespace sycl_ext {

// The slots Py_bf_getbuffer and Py_bf_releasebuffer.  Pending work is waited for.
int get_buffer(PyObject* self, Py_buffer* view, int flags);
void release_buffer(PyObject* self, Py_buffer* view);

// Raises what a signal handler raised when it ended the last buffer request to the tensor, unless
// the exception has reached a handler of Python's.
void raise_dropped_signal(const PyObject* tensor);

}  // namespace sycl_ext
