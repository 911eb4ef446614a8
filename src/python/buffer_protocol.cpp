// SPDX-License-Identifier: Apache-2.0
#include "python/buffer_protocol.hpp"

#include <memory>
#include <utility>

#include "base/error.hpp"
#include "python/offer_watch.hpp"
#include "python/signals.hpp"
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

// Where a thread of Python is: a frame, and the instruction in it.
struct Place {
  const void* frame = nullptr;
  long instruction = -1;

  bool operator==(const Place& other) const {
    return frame == other.frame && instruction == other.instruction;
  }
};

Place place_of(PyFrameObject* frame) {
  if (!frame) return {};
  const PyRef instruction(PyObject_GetAttrString(reinterpret_cast<PyObject*>(frame), "f_lasti"));
  if (!instruction) throw PythonError();
  return {frame, PyLong_AsLong(instruction.get())};
}

// An exception of a signal handler that ended a buffer request.  NumPy drops every exception of a
// buffer request, this one included, and goes on to __array__ in the same call, which raises it
// again.  (Not the exception itself, which would hold frames.)
struct DroppedSignal {
  const PyObject* tensor = nullptr;
  Place place;
  PyRef type, args;
};
DroppedSignal& dropped_signal() {
  static auto* const dropped = new DroppedSignal;  // the interpreter goes before static objects do
  return *dropped;
}

// The exception that is set.
void remember_signal(const PyObject* tensor) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  DroppedSignal& dropped = dropped_signal();
  Py_XINCREF(type);
  dropped.type.reset(type);
  dropped.args.reset(value ? PyObject_GetAttrString(value, "args") : nullptr);
  dropped.tensor = tensor;
  dropped.place = place_of(PyEval_GetFrame());
  PyErr_Restore(type, value, traceback);
}

int fill_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  OfferWatch::asked();
  return guarded(-1, [&] {
    const Tensor& tensor = tensor_of(self);
    require_buffer_request(tensor, flags);
    wait_for_pending_work(tensor);
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
    OfferWatch::taken();
    return 0;
  });
}

}  // namespace

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  ended_by_signal = false;
  const int result = fill_buffer(self, view, flags);
  if (result >= 0 || !ended_by_signal) return result;
  return guarded(-1, [&] {
    remember_signal(self);
    return result;
  });
}

void release_buffer(PyObject*, Py_buffer* view) {
  delete[] static_cast<Py_ssize_t*>(view->internal);
}

void raise_dropped_signal(const PyObject* tensor) {
  DroppedSignal& dropped = dropped_signal();
  if (dropped.tensor != tensor) return;
  dropped.tensor = nullptr;
  const PyRef type = std::move(dropped.type), args = std::move(dropped.args);
  const PyRef caller(reinterpret_cast<PyObject*>(PyFrame_GetBack(PyEval_GetFrame())));
  const Place now = place_of(reinterpret_cast<PyFrameObject*>(caller.get()));
  if (!(now == dropped.place)) return;  // another call: that one has raised it
  PyErr_SetObject(type.get(), args.get());
  throw PythonError();
}

}  // namespace sycl_ext
