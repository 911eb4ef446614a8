// SPDX-License-Identifier: Apache-2.0
// Floor 8. Signals during a wait, as Python handles them: Ctrl-C ends the wait, and not the work.
#pragma once

#include <Python.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "python_guard.hpp"

#if defined(__linux__)
#include <sys/syscall.h>
#endif

namespace sycl_ext {

// Whether a signal may end what this thread waits for: Python handles signals in the main thread.
inline bool takes_signals() noexcept {
  if (!ReleasedGil::current() || !python_is_alive()) return false;
#if defined(__linux__)
  return syscall(SYS_gettid) == getpid();
#else
  return true;
#endif
}

// What a signal handler raised last, and when.  NumPy drops every exception of a buffer request,
// this one included, and goes on to __array__, which has to raise it again.
struct SignalRaised {
  PyObject *type = nullptr, *args = nullptr;  // not the exception: it would hold frames
  std::chrono::steady_clock::time_point when;
};
inline SignalRaised signal_raised;

inline void remember_signal() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  const PyRef old_type(std::exchange(signal_raised.type, type));
  const PyRef old_args(std::exchange(signal_raised.args, PyObject_GetAttrString(value, "args")));
  if (!signal_raised.args) PyErr_Clear();
  Py_INCREF(type);
  signal_raised.when = std::chrono::steady_clock::now();
  PyErr_Restore(type, value, traceback);
}

// Raises what the handler of a signal raised a moment ago.
inline void raise_dropped_signal() {
  const PyRef type(std::exchange(signal_raised.type, nullptr));
  const PyRef args(std::exchange(signal_raised.args, nullptr));
  const auto age = std::chrono::steady_clock::now() - signal_raised.when;
  if (!type || age > std::chrono::milliseconds(100)) return;
  PyErr_SetObject(type.get(), args.get());
  throw PythonError();
}

// Runs the handlers of signals that have come; throws PythonError when one raises.
inline void handle_signals() {
  PyThreadState* const state = ReleasedGil::current();
  hang_at_thread_end([state] { PyEval_RestoreThread(state); });
  const bool raised = PyErr_CheckSignals() != 0;
  if (raised) remember_signal();
  PyEval_SaveThread();
  if (raised) throw PythonError();
}

}  // namespace sycl_ext
