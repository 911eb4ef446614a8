// SPDX-License-Identifier: Apache-2.0
#include "base/fork.hpp"

#include <pthread.h>

#include <atomic>
#include <mutex>

#include "base/lock.hpp"

namespace sycl_ext {

namespace {

std::atomic<bool> watched{false}, forked{false};
std::atomic<int> generation{0};

}  // namespace

// All that a fork concerns, in the order of their ranks.  A thread that holds a lock of the core
// never waits for the mutex of the list, so a fork can hold it and wait for every lock.
struct ForkList {
  static inline std::mutex mutex;
  static inline AtFork* first = nullptr;

  static void add(AtFork* one) noexcept {
    const std::lock_guard<std::mutex> lock(mutex);
    AtFork** place = &first;
    while (*place && (*place)->rank_ < one->rank_) place = &(*place)->next_;
    one->next_ = *place;
    *place = one;
  }
  static void before_fork() noexcept {
    mutex.lock();
    for (AtFork* one = first; one; one = one->next_) one->before_fork();
  }
  static void after_fork(bool in_child) noexcept {
    for (AtFork* one = first; one; one = one->next_) one->after_fork(in_child);
    mutex.unlock();
  }
};

namespace {

[[maybe_unused]] const int handlers =
    pthread_atfork([] { ForkList::before_fork(); }, [] { ForkList::after_fork(false); },
                   [] {
                     ++generation;
                     if (watched) forked = true;
                     ForkList::after_fork(true);
                   });

}  // namespace

AtFork::AtFork(Rank rank) noexcept : rank_(rank) {
  check_locks(!is_a_lock_held(), "a lock is made under another one");
  ForkList::add(this);
}

int process_generation() noexcept { return generation.load(std::memory_order_relaxed); }

bool is_forked_child() noexcept { return forked.load(std::memory_order_relaxed); }

void watch_for_forks() noexcept { watched = true; }

}  // namespace sycl_ext
