// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/interpreter.hpp"
#include "base/lock.hpp"

namespace sycl_ext {

namespace {

constexpr std::chrono::milliseconds between_signals{50};

PerProcess<std::atomic<int>>& interrupted = *new PerProcess<std::atomic<int>>;

Mutex& mutex = *new Mutex(Rank::waits);

// A detached thread that waits in the place of the main thread, one wait after the other.
class Helper {
 public:
  // Throws std::system_error if no thread can be started.
  static std::shared_ptr<Helper> start() {
    auto helper = std::make_shared<Helper>();
    std::thread([helper] { helper->serve(); }).detach();
    return helper;
  }

  void begin(std::function<void()> wait) {
    const std::lock_guard<Mutex> lock(mutex);
    wait_ = std::move(wait);
    is_busy_ = true;
    changed_.notify_all();
  }
  bool is_over_after(std::chrono::milliseconds timeout) {
    std::unique_lock<Mutex> lock(mutex);
    return changed_.wait_for(lock, timeout, [this] { return !is_busy_; });
  }
  // The exception of the wait that has ended.
  std::exception_ptr take_error() noexcept { return std::exchange(error_, nullptr); }
  // The thread ends, after its wait if it is in one.
  void dismiss() noexcept {
    const std::lock_guard<Mutex> lock(mutex);
    is_dismissed_ = true;
    if (is_busy_) ++*interrupted;
    changed_.notify_all();
  }

 private:
  void serve() {
    std::unique_lock<Mutex> lock(mutex);
    for (;;) {
      changed_.wait(lock, [this] { return is_busy_ || is_dismissed_; });
      if (!is_busy_) return;
      lock.unlock();
      try {
        wait_();
      } catch (...) {
        error_ = std::current_exception();
      }
      wait_ = nullptr;  // its captures are destroyed before the wait counts as over
      lock.lock();
      if (is_dismissed_) --*interrupted;
      is_busy_ = false;
      changed_.notify_all();
    }
  }

  // These two are the thread's while it is busy, and the main thread's at other times.
  std::function<void()> wait_;
  std::exception_ptr error_;
  std::condition_variable_any changed_;
  bool is_busy_ = false, is_dismissed_ = false;
};

// Kept for the next wait.  A child has none of the threads.
PerProcess<std::shared_ptr<Helper>>& idle = *new PerProcess<std::shared_ptr<Helper>>;

// Waits, and handles signals meanwhile.
void wait_with_signals(Helper* helper, const Interpreter& python) {
  const int process = process_generation();
  while (!helper->is_over_after(between_signals)) {
    try {
      python.handle_signals();
    } catch (...) {
      if (process_generation() == process) helper->dismiss();
      throw;
    }
    if (process_generation() == process) continue;
    // The thread that waits is the parent's.
    fail(Error::Kind::runtime,
         "a signal handler forked the process in the middle of a wait; only the parent waits on, "
         "so end the child in the handler (os._exit), or fork elsewhere");
  }
}

}  // namespace

int interrupted_waits() noexcept { return *interrupted; }

void wait_interruptibly(std::function<void()> wait) {
  const Interpreter* const python = interpreter;
  if (!python || !python->is_interruptible()) return wait();
  // A signal handler may wait in the middle of another wait, whose helper is busy.
  std::shared_ptr<Helper> helper = std::exchange(*idle, nullptr);
  try {
    if (!helper) helper = Helper::start();
  } catch (const std::system_error&) {  // no thread: a wait that signals do not end
    return wait();
  }
  helper->begin(std::move(wait));
  wait_with_signals(helper.get(), *python);
  const std::exception_ptr error = helper->take_error();
  idle->swap(helper);
  if (helper) helper->dismiss();
  if (error) std::rethrow_exception(error);
}

}  // namespace sycl_ext
