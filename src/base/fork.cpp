// SPDX-License-Identifier: Apache-2.0
#include "base/fork.hpp"

#include <pthread.h>

#include <mutex>

#include "base/lock.hpp"

namespace sycl_ext {

namespace {

std::atomic<bool> watched{false}, forked{false};
std::atomic<int> generation{0};
std::mutex one_fork;  // at a time

void before_fork() noexcept {
  one_fork.lock();
  if (const ForkSteps* const steps = fork_steps) steps->before();
  locks.for_each([](auto& lock) { lock.lock_for_fork(); });
}

void after_fork(bool in_child) noexcept {
  if (in_child) ++generation;
  if (in_child && watched) forked = true;
  locks.for_each([](auto& lock) { lock.unlock_after_fork(); });
  if (const ForkSteps* const steps = fork_steps) steps->after(in_child);
  one_fork.unlock();
}

[[maybe_unused]] const int handlers =
    pthread_atfork(before_fork, [] { after_fork(false); }, [] { after_fork(true); });

}  // namespace

int process_generation() noexcept { return generation.load(std::memory_order_relaxed); }

bool is_forked_child() noexcept { return forked.load(std::memory_order_relaxed); }

void watch_for_forks() noexcept { watched = true; }

}  // namespace sycl_ext
