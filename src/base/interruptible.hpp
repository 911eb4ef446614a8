// SPDX-License-Identifier: Apache-2.0
// Waits that Ctrl-C can end, although no call of the SYCL runtime can be interrupted.
//
// The thread that signals may interrupt hands its wait to a detached thread, and looks every now
// and then whether a signal has come.  When a handler raises, the wait is interrupted: the caller
// goes on, and the detached thread stays in the wait until the device is done.
#pragma once

#include <functional>
#include <memory>

#include "base/fork.hpp"

namespace sycl_ext {

// Runs `wait`, which blocks and must own all that it needs.
void wait_interruptibly(std::function<void()> wait);

// Has such a thread run `body`, which owns all that it needs and does not throw.  Where there is no
// thread to be had, it has run when this returns.
void run_in_background(std::function<void()> body);

struct Wait;

// What one thread says, once, and others wait for.  A forked child must not wait for one of its
// parent: the thread that would say it is not there.
class Completion {
 public:
  Completion();
  ~Completion();
  Completion(const Completion&) = delete;
  Completion& operator=(const Completion&) = delete;

  void set();
  // Blocks until it is set, or a signal handler raises.
  void wait() const;

 private:
  std::shared_ptr<Wait> wait_;
  const int process_ = process_generation();
};

// While one lives, each wait of this thread asks `check` after signal handlers have run, which may
// throw to end the wait as a handler does that raises.
class AfterSignals {
 public:
  explicit AfterSignals(std::function<void()> check);
  ~AfterSignals();
  AfterSignals(const AfterSignals&) = delete;
  AfterSignals& operator=(const AfterSignals&) = delete;

  static void ask();  // all that live, the innermost first

 private:
  const std::function<void()> check_;
  AfterSignals* const outer_;
};

// How many interrupted waits have not ended yet.
int interrupted_waits() noexcept;

}  // namespace sycl_ext
