// SPDX-License-Identifier: Apache-2.0
// Holding, releasing and avoiding the GIL; <Python.h> for the files above.
//
// The GIL is the outermost lock: code that holds a C++ lock never takes it.
#pragma once

#include <Python.h>

#include <memory>
#include <utility>

#include "base/forced_unwind.hpp"
#include "base/host.hpp"
#include "python/hooks.hpp"

namespace sycl_ext {

// Public from Python 3.13 on; before, the same functions under other names.
// https://docs.python.org/3/c-api/init.html#c.Py_IsFinalizing
#if PY_VERSION_HEX < 0x030D0000
inline int Py_IsFinalizing() noexcept { return _Py_IsFinalizing(); }
inline PyThreadState* PyThreadState_GetUnchecked() noexcept {
  return _PyThreadState_UncheckedGet();
}
#endif

// Public from Python 3.11 on.
// https://docs.python.org/3/c-api/init.html#c.PyThreadState_EnterTracing
#if PY_VERSION_HEX < 0x030B0000
inline void PyThreadState_EnterTracing(PyThreadState* state) noexcept {
  ++state->tracing;
  state->cframe->use_tracing = 0;
}
inline void PyThreadState_LeaveTracing(PyThreadState* state) noexcept {
  --state->tracing;
  state->cframe->use_tracing = state->c_tracefunc || state->c_profilefunc;
}
#endif

// The Python state of this thread while it has released the GIL (WithoutGil); nullptr: the thread
// has not released the GIL, or Python does not know the thread.
inline __thread PyThreadState* released_state __attribute__((tls_model("initial-exec"))) = nullptr;

// Takes the GIL in a thread that does not hold it.
class TakenGil {
 public:
  TakenGil() : state_(hang_at_thread_end([] { return PyGILState_Ensure(); })) {}
  ~TakenGil() {
    PyGILState_Release(state_);
    released_state = released_;
  }
  TakenGil(const TakenGil&) = delete;

 private:
  PyThreadState* const released_ = std::exchange(released_state, nullptr);
  const PyGILState_STATE state_;
};

// Restores the pending exception, or that none is pending, at the end of a scope.  A destructor may
// run while an exception is pending, and a producer's deleter in it may set another one.
class SavedException {
 public:
  SavedException() noexcept {
    if (PyErr_Occurred()) PyErr_Fetch(&type_, &value_, &traceback_);
  }
  ~SavedException() {
    if (type_ || PyErr_Occurred()) PyErr_Restore(type_, value_, traceback_);
  }
  SavedException(const SavedException&) = delete;

 private:
  PyObject *type_ = nullptr, *value_ = nullptr, *traceback_ = nullptr;
};

// False once the interpreter has ended or is ending: Python objects must not be used then.
inline bool python_is_alive() noexcept { return Py_IsInitialized() && !Py_IsFinalizing(); }

// Whether this thread holds the GIL, also while it ends the interpreter.  (PyGILState_Check returns
// true in every thread of a process that has had a sub-interpreter.)
inline bool is_current() noexcept {
  PyThreadState* const mine = Py_IsInitialized() ? PyGILState_GetThisThreadState() : nullptr;
  return mine && mine == PyThreadState_GetUnchecked();
}
inline bool holds_gil() noexcept { return python_is_alive() && is_current(); }

// Whether this thread has come without the GIL, so the caller of the core may hold locks.
inline bool lacks_gil() noexcept { return !released_state && python_is_alive() && !is_current(); }

// Whether the interpreter has ended, or another thread is ending it.
inline bool python_is_gone() noexcept { return !python_is_alive() && !is_current(); }

// The implementation of WithoutGil.
inline void* release_gil_if_held() noexcept {
  if (!holds_gil()) return nullptr;
  released_state = PyEval_SaveThread();
  return released_state;
}
inline void take_gil(void* state) {
  released_state = nullptr;
  hang_at_thread_end([state] { PyEval_RestoreThread(static_cast<PyThreadState*>(state)); });
}

// Thrown after a call into Python has failed.  The Python exception is already set.
struct PythonError {};

// Drops a reference, with the GIL. That may run Python code, which may release the GIL, and the
// thread may be ended when it asks for the GIL again.
[[gnu::always_inline]] inline void drop(PyObject* object) noexcept {
  hang_at_thread_end([object] { Py_XDECREF(object); });
}

// The deleter of a PyRef.  If the interpreter is ending and this thread does not hold the GIL, the
// stack is being unwound (forced_unwind.hpp), and the reference is not dropped.
struct DecRef {
  [[gnu::always_inline]] void operator()(PyObject* object) const noexcept {
    if (!python_is_gone()) drop(object);
  }
};
using PyRef = std::unique_ptr<PyObject, DecRef>;

// Runs `ask`, which may throw PythonError, with the GIL in any thread.  `otherwise` replaces the
// answer if the interpreter is gone, or if the caller of this thread cannot see a Python exception;
// that exception is written to stderr.
template <class Ask, class Otherwise>
auto with_gil(const Ask& ask, const Otherwise& otherwise) -> decltype(ask()) {
  if (holds_gil()) return hang_at_thread_end(ask);
  if (!python_is_alive()) return otherwise();
  const bool is_seen = released_state;  // by the caller of the core
  const TakenGil taken;
  try {
    return hang_at_thread_end(ask);
  } catch (const PythonError&) {
    if (is_seen) throw;
    PyErr_WriteUnraisable(Py_None);
  }
  return otherwise();
}

// Turns the hooks of profilers and debuggers off for a scope, in this thread, with the GIL.
class HooksOff {
 public:
  HooksOff() noexcept : state_(PyThreadState_Get()) { PyThreadState_EnterTracing(state_); }
  ~HooksOff() { PyThreadState_LeaveTracing(state_); }
  HooksOff(const HooksOff&) = delete;

 private:
  PyThreadState* const state_;
};

// Takes the exception that is set, as an object, if it is a third party's refusal.  Any other
// exception stays set, and PythonError is thrown.
inline PyRef take_exception() {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) throw PythonError();
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  hang_at_thread_end([&] { PyErr_NormalizeException(&type, &value, &traceback); });
  if (traceback) PyException_SetTraceback(value, traceback);
  PyRef owned_type(type), error(value), owned_traceback(traceback);
  // The common answer, without a call of Python.
  if (Py_IS_TYPE(value, reinterpret_cast<PyTypeObject*>(PyExc_AttributeError))) return error;
  const PyRef answer(
      hang_at_thread_end([value] { return PyObject_CallOneArg(hooks.is_refusal, value); }));
  if (!answer) throw PythonError();
  if (answer.get() == Py_True) return error;
  PyErr_Restore(owned_type.release(), error.release(), owned_traceback.release());
  throw PythonError();
}

// Whether a signal may end a wait of this thread: Python handles signals in the main thread.
inline bool takes_signals() noexcept {
  return released_state && python_is_alive() && is_main_thread();
}

// Runs the handlers of signals that have come.  Throws PythonError if a handler raises.
inline void handle_signals() {
  take_gil(released_state);
  const bool raised = PyErr_CheckSignals() != 0;
  released_state = PyEval_SaveThread();  // greenlets of this thread may have waited meanwhile
  if (raised) throw PythonError();
}

// A string that lives as long as the process.
inline PyObject* intern(const char* text) { return PyUnicode_InternFromString(text); }

// A module, if it is loaded; no exception is set.  PyImport_GetModuleDict() is not used, because it
// would end the process in the last collection of an interpreter.
inline PyRef loaded_module(const char* name) {
  const PyRef text(PyUnicode_FromString(name));
  PyRef module(text ? PyImport_GetModule(text.get()) : nullptr);
  if (!module) PyErr_Clear();
  return module;
}

}  // namespace sycl_ext
