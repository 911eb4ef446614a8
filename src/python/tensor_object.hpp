// SPDX-License-Identifier: Apache-2.0
// The Python type behind Tensor and HostView, written against the C API: pybind11's
// dispatch and instance bookkeeping cost several times what an exchange may cost here.
//
// The type holds a Tensor, answers its attributes, speaks the buffer protocol and the two DLPack
// methods.  What has to be negotiated it hands to a Python function (`Hooks`), so that no rule of
// the exchange is written twice.
#pragma once

#include "base/error.hpp"
#include "python/capsule.hpp"

namespace sycl_ext {

// What the core calls and uses of the Python package, which sets it once, at import: each row by
// the name of its field (sycl_ext/_tensor/hooks.py).  Functions of Python are called for what is
// no view, and for what only Python can read.
struct Hooks {
  // The classes of new tensors and of host views.
  PyObject *tensor_class = nullptr, *host_view_class = nullptr;
  // dict: Device -> entry id; dict: anything that usually names a dtype -> its place in `dtypes`.
  PyObject *device_ids = nullptr, *dtype_indices = nullptr;
  // (name of a dtype) -> numpy.dtype
  PyObject* numpy_dtype = nullptr;
  // (facts of a tensor and a request) -> place in Route; see routes.hpp
  PyObject* decide = nullptr;
  // (class) -> the bits of ProducerClass
  PyObject* facts_of_class = nullptr;
  // (entry id) -> the dpctl.SyclQueue that everybody shares
  PyObject* shared_queue = nullptr;
  // (x, refusal or None, the fields of ImportRequest) -> tensor; see imports.hpp
  PyObject* import_slowly = nullptr;
  // (tensor, stream, max_version, dl_device, copy) -> capsule; (x, copy) -> HostView;
  // (tensor, copy): raises; (shape, dtype, usm_type, device, order, zero) -> tensor;
  // (tensor, copy, wait) -> AsyncCopy
  PyObject *export_negotiated = nullptr, *host_view = nullptr, *refuse_host = nullptr,
           *new_tensor = nullptr, *begin_to_numpy = nullptr;
  // Every exchange goes through Python, which writes the log.
  bool trace = false;
};
inline Hooks hook_table;
inline Hooks& hooks() noexcept { return hook_table; }

// The base type, made once.  nullptr with an exception set when that fails.
PyTypeObject* tensor_base_type();

// Spares the instances of a subclass what the end of an instance of a Python class costs.  For a
// class without a dict and slots of its own.
void end_directly(PyObject* type) noexcept;

// A new instance of `type` (a subclass of the base type).  `base` (borrowed, may be nullptr) is the
// object that the tensor is a view of.
PyObject* wrap_tensor(Tensor&& tensor, PyObject* base, PyTypeObject* type = nullptr);
PyObject* wrap_tensor(const Tensor& tensor, PyObject* base, PyTypeObject* type = nullptr);

bool is_tensor(PyObject* object) noexcept;
// What a view of the instance names as its base (borrowed): the instance's own base, or itself.
PyObject* base_of(PyObject* object) noexcept;
// What keeps the instance alive for memory over its memory.  The collector clears it no more: its
// cycles end where that memory, which may have work of its own, is let go.
Owner keep_tensor(PyObject* tensor) noexcept;
// The NumPy dtype of a tensor; nullptr with an exception set when NumPy has none.
PyObject* numpy_dtype_of(const Tensor& tensor);
// Waits, without the GIL, when work is pending on the tensor's queue.  The GIL is held before and
// after.
void wait_for_pending_work(const Tensor& tensor);
// The same, which no signal ends, for callers that may drop its errors.
void wait_without_signals(const Memory& memory);

// Work on so many bytes releases the GIL.
inline constexpr std::size_t gil_threshold = std::size_t{64} << 10;
// Whether copying the tensor may take long enough to release the GIL.
bool is_worth_releasing(const Tensor& tensor) noexcept;

// The tensor of an instance.  Error(type) for another object.
const Tensor& tensor_of(PyObject* object);

// Sets the Python exception for an exception in flight; call it in a catch (...).
void set_python_error() noexcept;

// Runs `body` where C called; an exception becomes the Python exception, and `failed` the result.
// Python may run in there, and end the thread.
template <class Result, class Body>
Result guarded(Result failed, Body&& body) noexcept {
  try {
    return hang_at_thread_end(body);
  } catch (...) {
    set_python_error();
    return failed;
  }
}

// The Python class for each kind of Error; the package sets its own two (copy_refused, runtime).
PyObject*& error_class(Error::Kind kind) noexcept;

}  // namespace sycl_ext
