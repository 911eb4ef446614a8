// SPDX-License-Identifier: Apache-2.0
#include "python/buffer_protocol.hpp"

#include <memory>
#include <utility>

#include "base/error.hpp"
#include "python/tensor_object.hpp"

namespace sycl_ext {

namespace {

void require_buffer_request(const Tensor& tensor, int flags) {
  if (!tensor.host_accessible()) as_host_view(tensor);  // raises, and says why
  if ((flags & PyBUF_WRITABLE) && tensor.readonly) {
    fail(Error::Kind::buffer, "the tensor is read-only; ask for a read-only buffer or copy it");
  }
  if ((flags & PyBUF_FORMAT) && !tensor.dtype->buffer_format) {
    fail(Error::Kind::buffer, "the buffer protocol has no format for dtype ", tensor.dtype->name,
         "; use DLPack, or to_numpy(), which gives a view with ml_dtypes");
  }
  const bool c = is_contiguous(tensor.layout, Order::c);
  const bool f = is_contiguous(tensor.layout, Order::f);
  const auto asks = [flags](int request) { return (flags & request) == request; };
  if ((asks(PyBUF_C_CONTIGUOUS) && !c) || (asks(PyBUF_F_CONTIGUOUS) && !f) ||
      (asks(PyBUF_ANY_CONTIGUOUS) && !c && !f) || (!asks(PyBUF_STRIDES) && !c)) {
    fail(Error::Kind::buffer,
         "a contiguous buffer was asked for, and the tensor is not contiguous; copy() it first");
  }
}

}  // namespace

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  note_offer(self, Py_None);
  return guarded(-1, [&] {
    const Tensor& tensor = tensor_of(self);
    require_buffer_request(tensor, flags);
    // NumPy drops every exception of a buffer request, that of a signal handler included.
    wait_without_signals(Memory(tensor.memory));
    tensor.memory->show_to_host();
    const int ndim = tensor.layout.ndim();
    auto dims = std::make_unique<Py_ssize_t[]>(2 * static_cast<std::size_t>(ndim) + 1);
    const auto itemsize = static_cast<Py_ssize_t>(tensor.dtype->itemsize());
    for (int i = 0; i < ndim; ++i) {
      dims[i] = tensor.layout.shape()[i];
      dims[ndim + i] = byte_stride(tensor.layout, i, tensor.dtype->itemsize());
    }
    static std::byte nothing;  // an empty buffer still has an address
    view->buf = tensor.data ? tensor.data : &nothing;
    view->len = static_cast<Py_ssize_t>(tensor.nbytes());
    view->itemsize = itemsize;
    view->readonly = tensor.readonly;
    view->ndim = ndim;
    view->format =
        (flags & PyBUF_FORMAT) ? const_cast<char*>(tensor.dtype->buffer_format) : nullptr;
    view->shape = (flags & PyBUF_ND) ? dims.get() : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? dims.get() + ndim : nullptr;
    view->suboffsets = nullptr;
    view->internal = dims.release();
    view->obj = self;
    Py_INCREF(self);
    note_offer(self, Py_True);
    return 0;
  });
}

void release_buffer(PyObject*, Py_buffer* view) {
  delete[] static_cast<Py_ssize_t*>(view->internal);
}

}  // namespace sycl_ext
