// SPDX-License-Identifier: Apache-2.0
#include "python/numpy_bridge.hpp"

#include <pybind11/numpy.h>

#include <algorithm>
#include <array>

#include "python/tensor_object.hpp"

namespace py = pybind11;

namespace sycl_ext {

bool is_ndarray(PyObject* object) { return py::detail::npy_api::get().PyArray_Check_(object); }

PyTypeObject* ndarray_type() { return py::detail::npy_api::get().PyArray_Type_; }

bool is_ndarray_subclass(PyObject* object) {
  return Py_TYPE(object) != ndarray_type() && is_ndarray(object);
}

PyObject* ndarray_over(PyObject* tensor_object) {
  const Tensor& tensor = tensor_of(tensor_object);
  if (!tensor.host_accessible()) as_host_view(tensor);  // raises, and says why
  const int ndim = tensor.layout.ndim();
  std::array<Py_intptr_t, max_ndim> shape, strides;
  std::copy_n(tensor.layout.shape(), ndim, shape.begin());
  for (int i = 0; i < ndim; ++i) {
    strides[static_cast<std::size_t>(i)] = byte_stride(tensor.layout, i, tensor.dtype->itemsize());
  }
  static std::byte nothing;  // NumPy would allocate for a NULL pointer
  const auto& api = py::detail::npy_api::get();
  PyObject* dtype = numpy_dtype_of(tensor);
  if (!dtype) throw PythonError();
  // PyArray_NewFromDescr takes the reference to dtype over.
  PyRef array(api.PyArray_NewFromDescr_(
      api.PyArray_Type_, dtype, ndim, shape.data(), strides.data(),
      tensor.data ? tensor.data : &nothing,
      tensor.readonly ? 0 : py::detail::npy_api::NPY_ARRAY_WRITEABLE_, nullptr));
  if (!array) throw PythonError();
  Py_INCREF(tensor_object);  // taken over by PyArray_SetBaseObject
  if (api.PyArray_SetBaseObject_(array.get(), tensor_object) < 0) throw PythonError();
  return array.release();
}

}  // namespace sycl_ext
