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

namespace sycl_ext {

// The functions and objects of the Python package that the core uses.  The package passes them when
// it is imported (sycl_ext/_tensor/hooks.py), each by its name here.  docs/develop/design.md has a
// table of them ("Calls of the core").
struct Hooks {
#define SYCL_EXT_HOOKS(hook) \
  hook(import_slowly);       \
  hook(export_slowly);       \
  hook(host_view_slowly);    \
  hook(to_numpy_slowly);     \
  hook(new_tensor_slowly);   \
  hook(to_device_slowly);    \
  hook(facts_of_class);      \
  hook(shared_queue);        \
  hook(numpy_dtype);         \
  hook(make_room);           \
  hook(tensor_class);        \
  hook(host_view_class);     \
  hook(device_class);        \
  hook(device_ids);          \
  hook(dtype_indices);       \
  hook(usm_kinds)
#define SYCL_EXT_DECLARE(name) PyObject* name = nullptr
  SYCL_EXT_HOOKS(SYCL_EXT_DECLARE);
#undef SYCL_EXT_DECLARE
  // Whether a log is written: then every exchange goes through Python, which writes it.
  bool trace = false;
};
inline Hooks hooks;

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

// The Python class of each kind of Error.  The package sets two of them itself (copy_refused,
// runtime).
PyObject*& error_class(Error::Kind kind) noexcept;

}  // namespace sycl_ext
