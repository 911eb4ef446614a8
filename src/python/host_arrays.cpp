// SPDX-License-Identifier: Apache-2.0
#include "python/host_arrays.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/error.hpp"
#include "python/tensor_object.hpp"

namespace sycl_ext {

namespace {

// NumPy's C API, a table in which the ABI of NumPy fixes the position of each function.  pybind11's
// lookup is not used: at its first use it releases the GIL, and a destructor takes the GIL again.
// If the process ends meanwhile, Python ends a daemon thread in that destructor, which aborts.
void** api = nullptr;
constexpr std::size_t array_type = 2, new_from_descr = 94, set_base_object = 282;
constexpr int flag_writeable = 0x0400;

std::byte nothing;  // the address of empty arrays, as NumPy allocates for NULL

template <class Function>
Function* function_at(std::size_t place) {
  return reinterpret_cast<Function*>(api[place]);
}

// The stride of an axis in bytes, as consumers of NumPy arrays take it.  That of an axis of one
// element is never stepped along, so it is made positive: torch.from_numpy refuses a negative one.
std::int64_t stride_for_numpy(const Tensor& tensor, int axis) {
  const std::size_t itemsize = tensor.dtype->itemsize();
  const std::int64_t stride = byte_stride(tensor.layout, axis, itemsize);
  const bool is_unused = tensor.layout.shape()[axis] == 1;
  return is_unused && stride < 0 ? static_cast<std::int64_t>(itemsize) : stride;
}

void require_buffer_request(const Tensor& tensor, int flags) {
  require_host_accessible(tensor);
  if ((flags & PyBUF_WRITABLE) && tensor.readonly) {
    fail(Error::Kind::buffer,
         "cannot export a writable buffer of a read-only tensor; request a read-only buffer, or "
         "copy the tensor");
  }
  if ((flags & PyBUF_FORMAT) && !tensor.dtype->buffer_format) {
    fail(Error::Kind::buffer, "the buffer protocol has no format for dtype ", tensor.dtype->name,
         "; use DLPack, or to_numpy(), which returns a view with a dtype of ml_dtypes");
  }
  const bool c = is_contiguous(tensor.layout, Order::c);
  const bool f = is_contiguous(tensor.layout, Order::f);
  const auto asks = [flags](int request) { return (flags & request) == request; };
  if ((asks(PyBUF_C_CONTIGUOUS) && !c) || (asks(PyBUF_F_CONTIGUOUS) && !f) ||
      (asks(PyBUF_ANY_CONTIGUOUS) && !c && !f) || (!asks(PyBUF_STRIDES) && !c)) {
    fail(Error::Kind::buffer,
         "a contiguous buffer was requested, but the tensor is not contiguous; call copy() first");
  }
}

}  // namespace

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  return guarded(-1, [&] {
    const Tensor& tensor = tensor_of(self);
    require_buffer_request(tensor, flags);
    // NumPy drops every exception of a buffer request, even that of a signal handler.
    wait_without_signals(tensor.memory);
    tensor.memory->note_host_view();
    const int ndim = tensor.layout.ndim();
    auto dims = std::make_unique<Py_ssize_t[]>(2 * static_cast<std::size_t>(ndim));
    for (int i = 0; i < ndim; ++i) {
      dims[i] = tensor.layout.shape()[i];  // a copy, because a consumer might write to it
      dims[ndim + i] = stride_for_numpy(tensor, i);
    }
    view->buf = tensor.data ? tensor.data : &nothing;
    view->len = static_cast<Py_ssize_t>(tensor.nbytes());
    view->itemsize = static_cast<Py_ssize_t>(tensor.dtype->itemsize());
    view->readonly = tensor.readonly;
    view->format =
        (flags & PyBUF_FORMAT) ? const_cast<char*>(tensor.dtype->buffer_format) : nullptr;
    // As in NumPy: a request without PyBUF_ND gets a block of bytes, without axes.  A consumer
    // reads `shape` wherever `ndim` is above 1, and there is none where `ndim` is 0.
    view->ndim = (flags & PyBUF_ND) ? ndim : 0;
    view->shape = view->ndim > 0 ? dims.get() : nullptr;
    const bool has_strides = view->ndim > 0 && (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    view->strides = has_strides ? dims.get() + ndim : nullptr;
    view->suboffsets = nullptr;
    view->internal = dims.release();
    view->obj = Py_NewRef(self);
    return 0;
  });
}

void release_buffer(PyObject*, Py_buffer* view) {
  delete[] static_cast<Py_ssize_t*>(view->internal);
}

bool load_numpy() {
  const PyRef module(PyImport_ImportModule("numpy._core.multiarray"));  // 1.26 also has it
  const PyRef capsule(module ? PyObject_GetAttrString(module.get(), "_ARRAY_API") : nullptr);
  if (capsule) api = static_cast<void**>(PyCapsule_GetPointer(capsule.get(), nullptr));
  return api;
}

PyTypeObject* ndarray_type() { return static_cast<PyTypeObject*>(api[array_type]); }

PyObject* ndarray_over(PyObject* tensor_object) {
  const Tensor& tensor = tensor_of(tensor_object);
  require_host_accessible(tensor);
  tensor.memory->note_host_view();
  const int ndim = tensor.layout.ndim();
  std::array<Py_intptr_t, max_ndim> strides;
  for (int i = 0; i < ndim; ++i) {
    strides[static_cast<std::size_t>(i)] = stride_for_numpy(tensor, i);
  }
  PyObject* dtype = numpy_dtype_of(tensor);
  if (!dtype) throw PythonError();
  // Both functions steal the references to `dtype` and to the object.
  PyRef array(function_at<PyObject*(PyTypeObject*, PyObject*, int, const Py_intptr_t*,
                                    const Py_intptr_t*, void*, int, PyObject*)>(new_from_descr)(
      ndarray_type(), dtype, ndim, tensor.layout.shape(), strides.data(),
      tensor.data ? tensor.data : &nothing, tensor.readonly ? 0 : flag_writeable, nullptr));
  if (!array) throw PythonError();
  if (function_at<int(PyObject*, PyObject*)>(set_base_object)(array.get(),
                                                              Py_NewRef(tensor_object)) < 0) {
    throw PythonError();
  }
  return array.release();
}

}  // namespace sycl_ext
