// SPDX-License-Identifier: Apache-2.0
#include "base/waiting.hpp"

#include <algorithm>
#include <condition_variable>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/first_made.hpp"
#include "base/fork.hpp"
#include "base/host.hpp"
#include "base/lock.hpp"
#include "base/thread.hpp"

namespace sycl_ext {

namespace {

using Clock = std::chrono::steady_clock;

// A nap takes at least 60 microseconds, so a wait for a short command polls without a nap.
constexpr std::chrono::microseconds without_nap{50};
constexpr std::chrono::microseconds shortest_nap{10}, longest_nap{500};

std::atomic<int> waits{0}, interrupted{0};

// The thread that waits in the CPU driver.  It is started when first needed, and stays.
class Helper {
 public:
  std::shared_future<void> take(std::function<void()> call) {
    std::packaged_task<void()> task(std::move(call));
    std::shared_future<void> end = task.get_future().share();
    const std::lock_guard<Mutex> lock(locks.helper);
    if (is_busy_) return {};
    if (!is_started_) {
      start_thread([this] { run(); });
      is_started_ = true;
    }
    task_ = std::move(task);
    is_busy_ = true;
    given_.notify_one();
    return end;
  }

 private:
  void run() {
    for (;;) {
      std::unique_lock<Mutex> lock(locks.helper);
      given_.wait(lock, [this] { return task_.valid(); });
      std::packaged_task<void()> task = std::exchange(task_, {});
      lock.unlock();
      task();
      task = {};  // drop what the task keeps before another one can come
      lock.lock();
      is_busy_ = false;
    }
  }

  std::condition_variable_any given_;
  std::packaged_task<void()> task_;
  bool is_started_ = false, is_busy_ = false;
};

FirstMade<Helper, true> helpers;  // a child does not have the thread

// Whether a signal may end a wait of the calling thread.
bool is_interruptible() noexcept {
  const Host* const python = host;
  return python && python->is_interruptible();
}

}  // namespace

int waits_of_main_thread() noexcept { return waits; }
int interrupted_waits() noexcept { return interrupted; }

void look_for_signals() {
  if (!is_interruptible()) return;
  const int process = process_generation;
  try {
    host.load()->handle_signals();
  } catch (...) {
    ++interrupted;
    throw;
  }
  if (process_generation == process) return;
  fail(Error::Kind::runtime,
       "a signal handler forked this process during a wait, which only the parent can continue; "
       "call os._exit() in the child, or fork outside the handler");
}

WaitSlice::WaitSlice() noexcept : takes_signals_(is_interruptible()) {
  if (takes_signals_) ++waits;
}

WaitSlice::~WaitSlice() {
  if (takes_signals_) --waits;
}

bool WaitSlice::is_over() const noexcept {
  return takes_signals_ && Clock::now() - begin_ > between_signals;
}

void WaitSlice::nap() const noexcept {
  const Clock::duration waited = Clock::now() - begin_;
  if (waited < without_nap) {
    std::this_thread::yield();
    return;
  }
  std::this_thread::sleep_for(std::clamp<Clock::duration>(waited / 8, shortest_nap, longest_nap));
}

std::shared_future<void> hand_to_helper(std::function<void()> call) {
  try {
    return helpers.get_once([] { return Helper(); }).take(std::move(call));
  } catch (const std::exception&) {  // no memory, or no thread
    return {};
  }
}

}  // namespace sycl_ext
