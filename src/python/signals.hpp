// SPDX-License-Identifier: Apache-2.0
// Signals during a wait, as Python handles them: Ctrl-C ends the wait, and not the work.
#pragma once

#include "python/gil.hpp"

namespace sycl_ext {

// Whether a signal may end what this thread waits for: Python handles signals in the main thread.
inline bool takes_signals() noexcept {
  if (!ReleasedGil::current() || !python_is_alive()) return false;
  return is_main_thread();
}

// Runs the handlers of signals that have come; throws PythonError when one raises.
inline void handle_signals() {
  PyThreadState* const state = ReleasedGil::current();
  hang_at_thread_end([state] { PyEval_RestoreThread(state); });
  const bool raised = PyErr_CheckSignals() != 0;
  PyEval_SaveThread();
  if (raised) throw PythonError();
}

}  // namespace sycl_ext
