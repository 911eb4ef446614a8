// SPDX-License-Identifier: Apache-2.0
// The Python type behind Tensor and HostView, written with the C API: the dispatch and the instance
// bookkeeping of pybind11 would cost several times as much as an exchange may.
//
// An instance holds a Tensor.  The type provides its attributes, the buffer protocol and the two
// DLPack methods.  Requests that need a negotiation go to a Python function (`Hooks`), so that no
// rule of the exchange is written twice.
#pragma once

#include "base/error.hpp"
#include "python/capsule.hpp"
#include "python/hooks.hpp"

namespace sycl_ext {

// Functions of files above this one that give instances their methods.
struct TensorSlots {
  PyMethodDef* methods;
  getbufferproc get_buffer;
  releasebufferproc release_buffer;
};
// Makes the base type.  It is called once.  On failure returns nullptr with an exception set.
PyTypeObject* make_tensor_base_type(const TensorSlots& slots);
// The base type (borrowed).
PyTypeObject* tensor_base_type() noexcept;

// Makes the deallocation of instances of a subclass as fast as that of the base type.  The subclass
// must not have a dict or slots of its own.
void end_directly(PyObject* type) noexcept;

// A new instance of `type`, a subclass of the base type.  `base` (borrowed) is the object that the
// tensor is a view of; nullptr or None: it is not a view.  Defined for Tensor&& and const Tensor&.
template <class T>
PyObject* wrap_tensor(T&& tensor, PyObject* base = nullptr, PyTypeObject* type = nullptr);

// A new instance that lends its memory to other code, which may submit work on it to the queue of
// the device as long as the instance lives.  It ends when it is deallocated, so after all
// finalizers, and the collector looks through it, which it cannot in a DLPack export.
PyObject* wrap_loan(const Tensor& tensor);

bool is_tensor(PyObject* object) noexcept;
// The base of a view of the instance (borrowed): the instance's own base, or itself.
PyObject* base_of(PyObject* object) noexcept;
// The Python object that owns the memory (borrowed). The owner may also be that of a block which
// only this memory keeps.  nullptr: the owner is not a Python object, or there is no owner.
PyObject* python_owner_of(const Memory& memory) noexcept;
// The NumPy dtype of a tensor; nullptr with an exception set when NumPy has none.
PyObject* numpy_dtype_of(const Tensor& tensor);
// Waits for pending work, without the GIL. Signals do not end the wait, because the caller may drop
// the exception of a handler.
void wait_without_signals(const Memory& memory);

// The tensor of an instance.  Error(type) for another object.
const Tensor& tensor_of(PyObject* object);

// Sets the Python exception for the exception in flight.  It is called in a catch (...).
void set_python_error() noexcept;

// Runs `body` in a function that C calls.  An exception becomes the Python exception, and the
// result is `failed`. Python code may run in `body`, and may end the thread.
template <class Result, class Body>
Result guarded(Result failed, Body&& body) noexcept {
  try {
    return hang_at_thread_end(body);
  } catch (...) {
    set_python_error();
    return failed;
  }
}

}  // namespace sycl_ext
