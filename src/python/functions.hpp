// SPDX-License-Identifier: Apache-2.0
// The public functions that are called most: from_dlpack,
// as_tensor, host_view, Tensor.to_numpy, empty and zeros. In C++ a call costs 100 ns instead of
// some microseconds. They read their arguments and make views. The rules decide (routes.hpp), and
// Python does everything that is not a view.
#pragma once

#include "python/tensor_object.hpp"

namespace sycl_ext {

// Adds them to the module; to_numpy is the method of the tensor type.  -1 with an exception set
// when that fails.
int add_functions(PyObject* module);

}  // namespace sycl_ext
