// SPDX-License-Identifier: Apache-2.0
// What the core asks of Python.  The core does not depend on Python: it calls function pointers,
// which src/python sets.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

#include "base/lock.hpp"

namespace sycl_ext {

// Whether the calling thread is the main thread of the process, in which Python handles signals.
inline bool is_main_thread() noexcept { return syscall(SYS_gettid) == getpid(); }

struct Interpreter {
  // `release_gil` releases the GIL if the calling thread holds it; otherwise it returns nullptr.
  // `take_gil` takes the GIL back.
  void* (*release_gil)() noexcept;
  void (*take_gil)(void* state);
  // Calls a deleter of other code, which may be Python, on any thread, with the GIL.  A pending
  // exception stays set, and one that the deleter sets is cleared.  Nothing is called when the
  // interpreter has ended, or another thread is ending it: the system takes the memory back.
  void (*call_deleter)(void (*deleter)(void*), void* object);
  // Whether the calling thread has come without the GIL: it neither holds it, nor has released it
  // by `release_gil`.
  bool (*lacks_gil)() noexcept;
  // Whether a signal may end the wait of the calling thread.
  bool (*is_interruptible)() noexcept;
  // Runs the handlers of signals that have come; throws to end the wait.
  void (*handle_signals)();
};

// nullptr without an interpreter (the C++ tests).  Once set, it is valid forever.
inline std::atomic<const Interpreter*> interpreter{nullptr};

// Tests and debug builds set `is_gil_held`.  require_gil() then ends the process where the calling
// thread does not hold the GIL.
inline std::atomic<bool (*)() noexcept> is_gil_held{nullptr};
inline void require_gil(const char* act) noexcept {
  const auto is_held = is_gil_held.load(std::memory_order_relaxed);
  if (!is_held || is_held()) return;
  std::fprintf(stderr, "sycl_ext: %s without the GIL\n", act);
  std::abort();
}

// Host work on at least this many bytes releases the GIL.
inline constexpr std::size_t gil_threshold = std::size_t{64} << 10;

// Releases the GIL if the calling thread holds it and the work may take long.  The caller must not
// hold a lock of the core: taking the GIL back under such a lock would be a deadlock.
class WithoutGil {
 public:
  explicit WithoutGil(bool worth_it = true) noexcept {
    check_locks(held_locks == 0, "the GIL is released under a lock");
    if (python_ && worth_it) state_ = python_->release_gil();
  }
  ~WithoutGil() {
    if (state_) python_->take_gil(state_);
  }
  WithoutGil(const WithoutGil&) = delete;

 private:
  const Interpreter* const python_ = interpreter;
  void* state_ = nullptr;
};

}  // namespace sycl_ext
