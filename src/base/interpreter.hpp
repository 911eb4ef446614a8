// SPDX-License-Identifier: Apache-2.0
// The requests of the core to Python, which it does not know: function pointers that Python's
// side sets.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "base/lock.hpp"

namespace sycl_ext {

// Of the process: the one that Python handles signals in.
inline bool is_main_thread() noexcept { return syscall(SYS_gettid) == getpid(); }

class Entry;  // runtime/devices/device_table.hpp
class Queue;  // runtime/sycl/queue.hpp
class Event;

struct Interpreter {
  // Lets the GIL go when the calling thread holds it (else the state is nullptr), and takes it
  // back.
  void* (*release_gil)() noexcept;
  void (*take_gil)(void* state);
  // Calls a deleter of other code, which may be Python, on any thread.  A pending exception stays
  // set, and one that the deleter sets is cleared.  Nothing is called when the interpreter has
  // ended, or another thread is ending it: the system takes the memory back.
  void (*call_deleter)(void (*deleter)(void*), void* object);
  // Whether a signal may end the wait of the calling thread.
  bool (*is_interruptible)() noexcept;
  // Runs the handlers of signals that have come; throws to end the wait.
  void (*handle_signals)();
  // Whether Python started the calling thread; false where only the GIL would tell.
  bool (*started_this_thread)() noexcept;

  // These are called without a lock, with or without the GIL, and may throw.

  // The queue of Entry::queue(), which is dpctl's.
  Queue (*queue_of)(const Entry& entry);
  // Appends the events that the users of an out-of-order queue have noted for their commands.
  void (*find_noted_events)(const Queue& queue, std::vector<Event>* events);
  // Asks the program to free memory, before an allocation fails; true: it is to try again.
  bool (*make_room)(const Entry& limited, std::size_t nbytes);
};

// nullptr without an interpreter (the C++ tests).  Once set, it is valid forever.
inline std::atomic<const Interpreter*> interpreter{nullptr};

// Ends the process where `is_held`, which tests and debug builds set, says that the calling thread
// does not hold the GIL.
inline std::atomic<bool (*)() noexcept> is_gil_held{nullptr};
inline void require_gil(const char* act) noexcept {
  const auto is_held = is_gil_held.load(std::memory_order_relaxed);
  if (!is_held || is_held()) return;
  std::fprintf(stderr, "sycl_ext: %s without the GIL\n", act);
  std::abort();
}

// Work of the host on so many bytes releases the GIL.
inline constexpr std::size_t gil_threshold = std::size_t{64} << 10;

// Releases the GIL when the thread holds it, if this may take long enough.  The caller holds no
// lock of the core: taking the GIL back under one would be a deadlock.
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

// Runs `wait`, which blocks and must own all that it needs.  Ctrl-C can end it, although no call of
// the SYCL runtime can be interrupted: the thread that signals may interrupt hands its wait to a
// detached thread, and looks every now and then whether a signal has come.  When a handler raises,
// the caller goes on, and the detached thread stays in the wait until the device is done.
void wait_interruptibly(std::function<void()> wait);

// The number of interrupted waits that have not ended, and of the wait of the main thread.
int interrupted_waits() noexcept;

}  // namespace sycl_ext
