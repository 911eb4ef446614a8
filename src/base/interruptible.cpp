// SPDX-License-Identifier: Apache-2.0
#include "base/interruptible.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.hpp"
#include "base/fork.hpp"
#include "base/interpreter.hpp"

namespace sycl_ext {

namespace {

constexpr std::chrono::milliseconds between_signals{50};

std::atomic<int> detached{0};  // waits of the main thread, by detached threads

}  // namespace

int interrupted_waits() noexcept { return detached; }

void wait_interruptibly(std::function<void()> wait) {
  const Interpreter* const python = interpreter;
  if (!python || !python->is_interruptible()) return wait();
  ++detached;
  std::shared_ptr<void> end_of_count(nullptr, [](void*) { --detached; });
  std::packaged_task<void()> task([wait, counted = std::move(end_of_count)]() mutable {
    // They are destroyed before the wait is over, the captures of the wait first.
    const auto counts = std::move(counted);
    std::exchange(wait, nullptr)();
  });
  std::future<void> end = task.get_future();
  try {
    std::thread(std::move(task)).detach();
  } catch (const std::system_error&) {  // no thread: a wait that signals do not end
    return wait();
  }
  wait = nullptr;
  const int process = process_generation;
  while (end.wait_for(between_signals) != std::future_status::ready) {
    python->handle_signals();
    if (process_generation == process) continue;
    // The thread that waits is the parent's.
    fail(Error::Kind::runtime,
         "a signal handler forked the process in the middle of a wait; only the parent continues "
         "it, so end the child in the handler (os._exit), or fork elsewhere");
  }
  end.get();
}

}  // namespace sycl_ext
