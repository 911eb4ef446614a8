// SPDX-License-Identifier: Apache-2.0
#include "base/fork.hpp"

#include <pthread.h>

#include <mutex>

#include "base/lock.hpp"

namespace sycl_ext {

// Defined here and not inline: whoever uses these variables links this file, and with it the
// handlers of fork().
std::atomic<int> process_generation{0}, first_user{-1};

namespace {

std::mutex one_fork;  // one fork at a time

void before_fork() noexcept {
  one_fork.lock();
  if (const ForkSteps* const steps = fork_steps) steps->before();
  locks.for_each([](Mutex& lock) { lock.lock_for_fork(); });
}

void after_fork(bool in_child) noexcept {
  if (in_child) ++process_generation;
  locks.for_each([](Mutex& lock) { lock.unlock_after_fork(); });
  if (const ForkSteps* const steps = fork_steps) steps->after(in_child);
  one_fork.unlock();
}

[[maybe_unused]] const int handlers =
    pthread_atfork(before_fork, [] { after_fork(false); }, [] { after_fork(true); });

}  // namespace

}  // namespace sycl_ext
