// SPDX-License-Identifier: Apache-2.0
#include "interruptible.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace sycl_ext {

namespace {

std::atomic<const Interrupts*> interrupts{nullptr};
std::atomic<int> aside{0};
thread_local bool interrupted = false;

// A wait that was handed to a thread of its own.
struct Watch {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  std::exception_ptr error;
};

}  // namespace

void set_interrupts(const Interrupts* value) noexcept { interrupts = value; }

bool gave_up() noexcept { return interrupted; }

int threads_aside() noexcept { return aside; }

void run_aside(std::function<void()> body) {
  ++aside;
  try {
    std::thread([body = std::move(body)]() mutable {
      body();
      body = nullptr;  // what it holds goes before the thread counts as gone
      --aside;
    }).detach();
  } catch (...) {
    --aside;
    throw;
  }
}

void wait_interruptibly(const std::function<bool()>& done, const std::function<void()>& wait) {
  constexpr std::chrono::microseconds short_wait{500};  // over before a thread would be worth it
  constexpr std::chrono::milliseconds between_checks{50};
  interrupted = false;
  const Interrupts* const may = interrupts;
  if (!may || !may->possible()) return wait();
  const auto end = std::chrono::steady_clock::now() + short_wait;
  while (std::chrono::steady_clock::now() < end) {
    if (done()) return wait();
    std::this_thread::yield();
  }
  const auto watch = std::make_shared<Watch>();
  run_aside([watch, wait] {
    std::exception_ptr error;
    try {
      wait();
    } catch (...) {
      error = std::current_exception();
    }
    const std::lock_guard<std::mutex> lock(watch->mutex);
    watch->error = std::move(error);
    watch->done = true;
    watch->changed.notify_one();
  });
  std::unique_lock<std::mutex> lock(watch->mutex);
  while (!watch->changed.wait_for(lock, between_checks, [&] { return watch->done; })) {
    lock.unlock();
    interrupted = true;  // if the check throws
    may->check();
    interrupted = false;
    lock.lock();
  }
  if (watch->error) std::rethrow_exception(watch->error);
}

}  // namespace sycl_ext
