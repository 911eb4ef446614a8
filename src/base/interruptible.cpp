// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <system_error>
#include <thread>

#include "base/error.hpp"
#include "base/interpreter.hpp"
#include "base/lock.hpp"

namespace sycl_ext {

namespace {

constexpr std::chrono::milliseconds between_signals{50};

PerProcess<std::atomic<int>>& interrupted = *new PerProcess<std::atomic<int>>;

Mutex& mutex = *new Mutex(Rank::waits);

// A wait of the main thread, by a detached thread.
struct Wait {
  bool is_over_after(std::chrono::milliseconds timeout) {
    std::unique_lock<Mutex> lock(mutex);
    return changed.wait_for(lock, timeout, [this] { return is_over; });
  }
  void leave() {
    const std::lock_guard<Mutex> lock(mutex);
    is_left = !is_over;
    if (is_left) ++*interrupted;
  }
  void end() {
    const std::lock_guard<Mutex> lock(mutex);
    is_over = true;
    if (is_left) --*interrupted;
    changed.notify_all();
  }

  std::exception_ptr error;
  std::condition_variable_any changed;
  bool is_over = false, is_left = false;
};

}  // namespace

int interrupted_waits() noexcept { return *interrupted; }

void wait_interruptibly(std::function<void()> wait) {
  const Interpreter* const python = interpreter;
  if (!python || !python->is_interruptible()) return wait();
  const auto state = std::make_shared<Wait>();
  try {
    std::thread([state, wait]() mutable {
      try {
        wait();
      } catch (...) {
        state->error = std::current_exception();
      }
      wait = nullptr;  // its captures are destroyed before the wait counts as over
      state->end();
    }).detach();
  } catch (const std::system_error&) {  // no thread: a wait that signals do not end
    return wait();
  }
  wait = nullptr;
  const int process = process_generation();
  while (!state->is_over_after(between_signals)) {
    try {
      python->handle_signals();
    } catch (...) {
      if (process_generation() == process) state->leave();
      throw;
    }
    if (process_generation() == process) continue;
    // The thread that waits is the parent's.
    fail(Error::Kind::runtime,
         "a signal handler forked the process in the middle of a wait; only the parent waits on, "
         "so end the child in the handler (os._exit), or fork elsewhere");
  }
  if (state->error) std::rethrow_exception(state->error);
}

}  // namespace sycl_ext
