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

// Set once by the Python package.
struct Hooks {
  PyObject* tensor_class = nullptr;     // subclass that new tensors are made of
  PyObject* host_view_class = nullptr;  // subclass for host memory
  PyObject* export_negotiated =
      nullptr;                      // (tensor, stream, max_version, dl_device, copy) -> capsule
  bool trace = false;               // every exchange goes through Python, which writes the log
  PyObject* numpy_dtype = nullptr;  // (name of an entry of the dtype table) -> numpy.dtype
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

// A host view that copies `source` to the host when its bytes are first asked for.
PyObject* wrap_lazy_host_copy(Tensor source, PyObject* base, PyTypeObject* type);

bool is_tensor(PyObject* object) noexcept;
// What a view of the instance names as its base (borrowed): the instance's own base, or itself.
PyObject* base_of(PyObject* object) noexcept;
// The NumPy dtype of a tensor; nullptr with an exception set when NumPy has none.
PyObject* numpy_dtype_of(const Tensor& tensor);
// Waits, without the GIL, when work is pending on the tensor's queue.  The GIL is held before and
// after.
void wait_for_pending_work(const Tensor& tensor);

// Raises what a signal handler raised when it ended the last buffer request to the tensor, unless
// the exception has reached a handler of Python's.
void raise_dropped_signal(const PyObject* tensor);

// Work on so many bytes releases the GIL.
inline constexpr std::size_t gil_threshold = std::size_t{64} << 10;
// Whether copying the tensor may take long enough to release the GIL.
bool is_worth_releasing(const Tensor& tensor) noexcept;

// The tensor of an instance, its bytes in place.  Error(type) for another object.
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
