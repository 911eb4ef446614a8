// SPDX-License-Identifier: Apache-2.0
// The Python type behind Tensor and HostView, written against the C API: pybind11's
// dispatch and instance bookkeeping cost several times what an exchange may cost here.
//
// The type holds a Tensor, answers its attributes, speaks the buffer protocol and the two DLPack
// methods.  Requests that need a negotiation go to a Python function (`Hooks`), so that no rule of
// the exchange is written twice.
#pragma once

#include "base/error.hpp"
#include "python/capsule.hpp"

namespace sycl_ext {

// The functions and objects of the Python package that the core uses, which the package passes at
// import (sycl_ext/_tensor/hooks.py), each by its name here.  docs/develop/design.md has a table of
// them
// ("Calls of the core").
struct Hooks {
#define SYCL_EXT_HOOKS(hook) \
  hook(import_slowly);       \
  hook(export_slowly);       \
  hook(host_view_slowly);    \
  hook(to_numpy_slowly);     \
  hook(new_tensor_slowly);   \
  hook(facts_of_class);      \
  hook(decide);              \
  hook(shared_queue);        \
  hook(numpy_dtype);         \
  hook(make_room);           \
  hook(tensor_class);        \
  hook(host_view_class);     \
  hook(device_ids);          \
  hook(dtype_indices);       \
  hook(usm_kinds)
#define SYCL_EXT_DECLARE(name) PyObject* name = nullptr
  SYCL_EXT_HOOKS(SYCL_EXT_DECLARE);
#undef SYCL_EXT_DECLARE
  // Every exchange goes through Python, which writes the log.
  bool trace = false;
};
inline Hooks hooks;

// What instances can do beyond their attributes, by functions of the files above this one.
struct TensorSlots {
  PyMethodDef* methods;
  getbufferproc get_buffer;
  releasebufferproc release_buffer;
};
// Makes the base type; call it once.  nullptr with an exception set when that fails.
PyTypeObject* make_tensor_base_type(const TensorSlots& slots);
// The base type (borrowed).
PyTypeObject* tensor_base_type() noexcept;

// Instances of a subclass are deallocated directly, without the cost for a Python class.  For a
// class without a dict and slots of its own.
void end_directly(PyObject* type) noexcept;

// A new instance of `type` (a subclass of the base type).  `base` (borrowed; nullptr or None: there
// is none) is the object that the tensor is a view of.  Defined for Tensor&& and const Tensor&.
template <class T>
PyObject* wrap_tensor(T&& tensor, PyObject* base = nullptr, PyTypeObject* type = nullptr);

bool is_tensor(PyObject* object) noexcept;
// The base of a view of the instance (borrowed): the instance's own base, or itself.
PyObject* base_of(PyObject* object) noexcept;
// The Python object that owns the memory (borrowed), also of a block that only this memory keeps;
// nullptr: another kind of owner, or none.
PyObject* python_owner_of(const Memory& memory) noexcept;
// An instance records the requests of a consumer in this list, until nullptr comes in its place.
// They distinguish a consumer that refuses a form of the memory from one that fails for other
// reasons. Other objects record nothing.
void watch_requests(PyObject* object, PyObject* requests);
// Called by the protocols: the memory, or where it is, was asked for (None); it was taken (True); a
// capsule was handed out.
void note_request(PyObject* tensor, PyObject* what) noexcept;
// The NumPy dtype of a tensor; nullptr with an exception set when NumPy has none.
PyObject* numpy_dtype_of(const Tensor& tensor);
// Waits for pending work, without the GIL, where no signal is to end the wait: the caller may drop
// its errors.
void wait_without_signals(const Memory& memory);

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
