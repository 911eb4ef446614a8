// SPDX-License-Identifier: Apache-2.0
// Code in which no other thread may be when the interpreter ends, because that would end the
// process: deleters of others (deleters.hpp), and compilers of drivers (kernel.cpp).
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

#include "base/first_made.hpp"

namespace sycl_ext {

// Threads may enter such code until the interpreter begins to end; from then on only the thread
// that ends it may.
class UntilEnd {
  // Each order of `enter` and `end` in time is seen by one of the two: one writes `ending_thread`
  // and then reads `inside`, the other one writes `inside` first.
  struct State {
    std::atomic<int> inside{0};
    std::atomic<long> ending_thread;  // 0: the interpreter is not ending

    explicit State(long ending) noexcept : ending_thread(ending) {}
  };

 public:
  UntilEnd() { state(); }  // before a fork

  // Exists while a thread is in such code.  False: the thread may not enter.
  class Visit {
   public:
    explicit Visit(UntilEnd& code) : state_(code.enter()) {}
    ~Visit() {
      if (state_) --state_->inside;
    }
    Visit(const Visit&) = delete;
    explicit operator bool() const noexcept { return state_; }

   private:
    State* const state_;
  };

  // Called when the interpreter begins to end.  Waits until the other threads have left, for
  // `longest` at most: they may wait for ever.
  void end(std::chrono::seconds longest) {
    State& mine = state();
    mine.ending_thread = syscall(SYS_gettid);
    const auto latest = std::chrono::steady_clock::now() + longest;
    while (mine.inside > 0 && std::chrono::steady_clock::now() < latest) usleep(200);
  }

 private:
  // nullptr: this thread may not enter.
  State* enter() {
    State& mine = state();
    ++mine.inside;
    const long ender = mine.ending_thread;
    if (ender == 0 || ender == syscall(SYS_gettid)) return &mine;
    --mine.inside;
    return nullptr;
  }

  // A forked child has none of the threads that were inside.  If it was forked by a function of
  // `atexit`, its interpreter is ending as well, in the only thread that it has got.
  State& state() {
    return of_process_.get([this] {
      const auto* const parents = of_process_.newest();
      return State(parents && parents->value.ending_thread != 0 ? getpid() : 0);
    });
  }

  FirstMade<State, true> of_process_;
};

}  // namespace sycl_ext
