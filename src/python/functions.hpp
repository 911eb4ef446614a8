// SPDX-License-Identifier: Apache-2.0
// The public functions that are called most often: from_dlpack, as_tensor, host_view, empty and
// zeros, and of a tensor to_numpy, to_device, __dlpack__ and __dlpack_device__. In C++ a call costs
// 100 ns instead of some microseconds.  These functions read their arguments and make views.  The
// rules decide (rules/routes.hpp), and Python does everything but views.
#pragma once

#include <Python.h>

namespace sycl_ext {

PyMethodDef* public_functions();   // of `sycl_ext`
PyMethodDef* private_functions();  // for its Python side
PyMethodDef* tensor_methods();

}  // namespace sycl_ext
