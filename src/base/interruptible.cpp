// SPDX-License-Identifier: Apache-2.0
#include "base/interruptible.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/interpreter.hpp"
#include "base/lock.hpp"

namespace sycl_ext {

namespace {

constexpr std::chrono::milliseconds between_signals{50};

PerProcess<std::atomic<int>>& interrupted = *new PerProcess<std::atomic<int>>;

// Of all waits and of the threads that serve them.
Mutex& mutex = *new Mutex(Rank::waits);

}  // namespace

// What is handed to a detached thread.
struct Wait {
  explicit Wait(std::function<void()> body) : body(std::move(body)) {}

  // In the detached thread.
  void run() {
    std::exception_ptr raised;
    try {
      body();
    } catch (...) {
      raised = std::current_exception();
    }
    body = nullptr;  // what it owns goes before the wait counts as over
    const std::lock_guard<Mutex> lock(mutex);
    error = std::move(raised);
    done = true;
    if (is_interrupted) --*interrupted;
    changed.notify_all();
  }

  // In a thread that waits.  True: it is over.
  bool is_over_after(std::chrono::milliseconds timeout) {
    std::unique_lock<Mutex> lock(mutex);
    return changed.wait_for(lock, timeout, [this] { return done; });
  }
  void interrupt() noexcept {
    const std::lock_guard<Mutex> lock(mutex);
    if (done) return;
    is_interrupted = true;
    ++*interrupted;
  }

  std::function<void()> body;
  std::condition_variable_any changed;
  bool done = false, is_interrupted = false;
  std::exception_ptr error;
};

namespace {

// Detached threads, each kept for the next wait when its own is over.
class Threads {
 public:
  // Throws std::system_error when there is no thread to be had.
  void run(std::shared_ptr<Wait> wait) {
    const std::lock_guard<Mutex> lock(mutex);
    waits_.push_back(std::move(wait));
    if (idle_ >= waits_.size()) return changed_.notify_one();
    try {
      std::thread([this] { serve(); }).detach();
    } catch (...) {
      waits_.pop_back();
      throw;
    }
  }

 private:
  void serve() {
    std::unique_lock<Mutex> lock(mutex);
    for (;;) {
      ++idle_;
      changed_.wait(lock, [this] { return !waits_.empty(); });
      --idle_;
      std::shared_ptr<Wait> wait = std::move(waits_.front());
      waits_.pop_front();
      lock.unlock();
      wait->run();
      wait.reset();
      lock.lock();
    }
  }

  std::condition_variable_any changed_;
  std::deque<std::shared_ptr<Wait>> waits_;
  std::size_t idle_ = 0;
};

// A child has none of the threads, and starts with new ones.  Never destroyed: the threads stay
// until the process ends.
PerProcess<Threads>& threads = *new PerProcess<Threads>;

}  // namespace

int interrupted_waits() noexcept { return *interrupted; }

namespace {

// Waits, and handles signals meanwhile.
void wait_with_signals(Wait* wait, const Interpreter& python) {
  const int process = process_generation();
  while (!wait->is_over_after(between_signals)) {
    try {
      python.handle_signals();
    } catch (...) {
      if (process_generation() == process) wait->interrupt();
      throw;
    }
    if (process_generation() == process) continue;
    // The thread that waits is the parent's, and may hold the lock of the wait for ever.
    fail(Error::Kind::runtime,
         "a signal handler forked the process in the middle of a wait; only the parent waits on, "
         "so end the child in the handler (os._exit), or fork elsewhere");
  }
}

}  // namespace

void wait_interruptibly(std::function<void()> body) {
  const Interpreter* const python = interpreter;
  if (!python || !python->is_interruptible()) return body();
  const auto wait = std::make_shared<Wait>(std::move(body));
  try {
    threads->run(wait);
  } catch (const std::system_error&) {  // no thread: a wait that signals do not end
    return wait->body();
  }
  wait_with_signals(wait.get(), *python);
  if (wait->error) std::rethrow_exception(wait->error);
}

}  // namespace sycl_ext
