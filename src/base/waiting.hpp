// SPDX-License-Identifier: Apache-2.0
// Waits for pending work, which Ctrl-C can end although no call of the SYCL runtime can be
// interrupted.
//
// A wait is a poll: it asks whether the work is over, naps, and in the main thread looks for
// signals.  No wait starts a thread: a program may wait a million times, and with no memory left a
// new thread ends the process (its thread-local data cannot be allocated).
//
// The exception is the CPU driver, which copies with the thread that waits.  There the main thread
// hands the call that waits to one helper thread, which serves all waits.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <future>

namespace sycl_ext {

// How long a signal may wait for its handler.
inline constexpr std::chrono::milliseconds between_signals{50};

// The waits of the main thread that signals may end now; those that a handler has ended so far.
int waits_of_main_thread() noexcept;
int interrupted_waits() noexcept;

// Runs the handlers of signals that have come, if the calling thread takes them; throws to end the
// wait.  No lock is held, and nothing that a handler may need: it may wait as well.
void look_for_signals();

// A part of a wait: until signals have to be looked for, in a thread that takes them.
class WaitSlice {
 public:
  WaitSlice() noexcept;
  ~WaitSlice();
  WaitSlice(const WaitSlice&) = delete;

  bool takes_signals() const noexcept { return takes_signals_; }
  bool is_over() const noexcept;
  // Between two questions: nothing for the first moments, in which short commands end; then an
  // eighth of the time so far, so that the wait is longer than the work by at most as much.
  void nap() const noexcept;

 private:
  const bool takes_signals_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Asks until it is true; false: signals have to be looked for first.
template <class Question>
bool poll(const Question& is_met) {
  const WaitSlice slice;
  while (!is_met()) {
    if (slice.is_over()) return false;
    slice.nap();
  }
  return true;
}

// Asks until it is true, or a signal handler ends the wait.
template <class Question>
void wait_until(const Question& is_met) {
  while (!poll(is_met)) look_for_signals();
}

// Has the helper thread make a call that blocks.  The result is not valid where it cannot, because
// it is still in the call of an interrupted wait, or there is no memory for it: the caller polls.
std::shared_future<void> hand_to_helper(std::function<void()> call);

}  // namespace sycl_ext
