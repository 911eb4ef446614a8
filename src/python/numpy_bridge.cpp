// SPDX-License-Identifier: Apache-2.0
#include "python/numpy_bridge.hpp"

#include <algorithm>
#include <array>

#include "python/tensor_object.hpp"

namespace sycl_ext {

namespace {

// NumPy's C API: a table with places that its ABI keeps. pybind11 looks it up when it is first
// used, and lets the GIL go meanwhile: the end of the process would meet a daemon thread in a
// destructor there, and abort.
void** api = nullptr;
constexpr std::size_t array_type = 2, new_from_descr = 94, set_base_object = 282;
constexpr int flag_writeable = 0x0400;

template <class Function>
Function* function_at(std::size_t place) {
  return reinterpret_cast<Function*>(api[place]);
}

}  // namespace

bool load_numpy() {
  const PyRef module(PyImport_ImportModule("numpy._core.multiarray"));  // 1.26 also has it
  const PyRef capsule(module ? PyObject_GetAttrString(module.get(), "_ARRAY_API") : nullptr);
  if (capsule) api = static_cast<void**>(PyCapsule_GetPointer(capsule.get(), nullptr));
  return api;
}

PyTypeObject* ndarray_type() { return static_cast<PyTypeObject*>(api[array_type]); }

PyObject* ndarray_over(PyObject* tensor_object) {
  const Tensor& tensor = tensor_of(tensor_object);
  if (!tensor.host_accessible()) as_host_view(tensor);  // raises, and says why
  tensor.memory->show_to_host();
  const int ndim = tensor.layout.ndim();
  std::array<Py_intptr_t, max_ndim> shape, strides;
  std::copy_n(tensor.layout.shape(), ndim, shape.begin());
  for (int i = 0; i < ndim; ++i) {
    strides[static_cast<std::size_t>(i)] = byte_stride(tensor.layout, i, tensor.dtype->itemsize());
  }
  static std::byte nothing;  // NumPy would allocate for a NULL pointer
  PyObject* dtype = numpy_dtype_of(tensor);
  if (!dtype) throw PythonError();
  // PyArray_NewFromDescr takes the reference to dtype over.
  PyRef array(function_at<PyObject*(PyTypeObject*, PyObject*, int, const Py_intptr_t*,
                                    const Py_intptr_t*, void*, int, PyObject*)>(new_from_descr)(
      ndarray_type(), dtype, ndim, shape.data(), strides.data(),
      tensor.data ? tensor.data : &nothing, tensor.readonly ? 0 : flag_writeable, nullptr));
  if (!array) throw PythonError();
  Py_INCREF(tensor_object);  // taken over by PyArray_SetBaseObject
  if (function_at<int(PyObject*, PyObject*)>(set_base_object)(array.get(), tensor_object) < 0) {
    throw PythonError();
  }
  return array.release();
}

}  // namespace sycl_ext
