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

// The number of waits of the main thread that signals may end now, and the number of waits that
// signal handlers have ended so far.
int waits_of_main_thread() noexcept;
int interrupted_waits() noexcept;

// Runs the handlers of signals that have come, if the calling thread handles signals.  Throws if a
// handler ends the wait.  The caller holds no lock and nothing else that a handler may need,
// because a handler may wait as well.
void look_for_signals();

// A part of a wait.  In a thread that handles signals, it ends when signals have to be looked for.
class WaitSlice {
 public:
  WaitSlice() noexcept;
  ~WaitSlice();
  WaitSlice(const WaitSlice&) = delete;

  bool takes_signals() const noexcept { return takes_signals_; }
  bool is_over() const noexcept;
  // Pauses between two polls.  There is no pause at first, because short commands end within
  // moments.  Later a pause is an eighth of the time so far, so a wait lasts at most an eighth
  // longer than the work.
  void nap() const noexcept;

 private:
  const bool takes_signals_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Polls until the answer is true.  False: signals have to be looked for first.
template <class Question>
bool poll(const Question& is_met) {
  const WaitSlice slice;
  while (!is_met()) {
    if (slice.is_over()) return false;
    slice.nap();
  }
  return true;
}

// Polls until the answer is true, or a signal handler ends the wait.
template <class Question>
void wait_until(const Question& is_met) {
  while (!poll(is_met)) look_for_signals();
}

// Gives a blocking call to the helper thread.  The result is not valid, and the caller polls, if
// the helper is still in the call of an interrupted wait or there is no memory for it.
std::shared_future<void> hand_to_helper(std::function<void()> call);

}  // namespace sycl_ext
