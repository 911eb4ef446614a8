// SPDX-License-Identifier: Apache-2.0
// What the core asks of the program that it runs in, which is Python: the one table of functions
// that the core calls upward.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/lock.hpp"

namespace sycl_ext {

// Whether the calling thread is the main thread of the process, in which Python handles signals.
inline bool is_main_thread() noexcept { return syscall(SYS_gettid) == getpid(); }

class Entry;
class Event;
class Queue;

// Each may be called in any thread.  None is called with a lock of the core held.
struct Host {
  // By WithoutGil, before a call that can wait; with or without the GIL.  Releases the GIL if the
  // calling thread holds it; otherwise returns nullptr.
  void* (*release_gil)() noexcept;
  // Called at the end of WithoutGil, without the GIL.  Takes the GIL back.
  void (*take_gil)(void* state);
  // Called when a borrowed block ends, with or without the GIL.  Whether the thread came without
  // the GIL: it neither holds it, nor has released it by `release_gil`.
  bool (*lacks_gil)() noexcept;
  // By each call of the runtime, if the rules of the GIL are checked.
  bool (*holds_gil)() noexcept;
  // By a new MemoryKeeper, if the rules of the GIL are checked.  Whether the thread holds the GIL,
  // or no thread can, because the interpreter has ended.
  bool (*may_add_keeper)() noexcept;
  // Called when a borrowed block ends, and when an import is refused, with or without the GIL,
  // which it takes.  Calls a third party's deleter, which may be Python.  A pending exception stays
  // set, and one that the deleter sets is cleared.  Nothing is called when the interpreter has
  // ended, or another thread is ending it: the system takes the memory back.
  void (*call_deleter)(void (*deleter)(void*), void* object);
  // By each part of a wait, without the GIL.  Whether a signal may end the wait of the thread.
  bool (*is_interruptible)() noexcept;
  // By a wait between two parts, without the GIL, which it takes.  Runs the handlers of signals
  // that have come; throws what a handler raises, to end the wait.
  void (*handle_signals)();
  // By Queue::work and the waits for an out-of-order queue; with or without the GIL, which it
  // takes.  Appends the events that users of the queue have noted for their commands (dpctl's order
  // managers).  It may throw.
  void (*find_noted_events)(const Queue& queue, std::vector<Event>* events);
  // By Entry::queue, until the answer is a queue; with or without the GIL, which it takes.  The
  // queue that dpctl keeps for the device and context of the entry; empty: there is no dpctl.  It
  // may throw.
  Queue (*queue_of_dpctl)(const Entry& entry);
  // By an allocation that has failed; with or without the GIL, which it takes.  Asks the program to
  // free memory of the entry.  True: the allocation tries again.  It may throw.
  bool (*make_room)(const Entry& limited, std::size_t nbytes);
};

// Set once, when the module is loaded, and valid for ever; nullptr: there is no Python (the C++
// tests).
inline std::atomic<const Host*> host{nullptr};

// Whether the rules of the GIL are checked, as in tests and debug builds: a call of the runtime
// that is made with the GIL, and a keeper of memory that is made without it, end the process.
inline std::atomic<bool> checks_gil{false};
inline void require_gil(const char* act) noexcept {
  const Host* const python = checks_gil.load(std::memory_order_relaxed) ? host.load() : nullptr;
  if (!python || python->may_add_keeper()) return;
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
  const Host* const python_ = host;
  void* state_ = nullptr;
};

}  // namespace sycl_ext
