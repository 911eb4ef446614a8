// SPDX-License-Identifier: Apache-2.0
// The locks of the core, each with a rank.  A fork takes them in that order (fork.cpp).
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <mutex>
#include <type_traits>

namespace sycl_ext {

// Debug builds and the C++ tests end the process where a rule about locks does not hold.
inline void check_locks([[maybe_unused]] bool is_met,
                        [[maybe_unused]] const char* failure) noexcept {
#if defined(SYCL_EXT_CHECK_LOCKS) || !defined(NDEBUG)
  if (is_met) return;
  std::fprintf(stderr, "sycl_ext: %s\n", failure);
  std::abort();
#endif
}

// The ranks whose locks this thread holds, a bit for each.
inline __thread std::uint32_t held_locks __attribute__((tls_model("initial-exec"))) = 0;

// A lock with a rank.  A thread that takes it holds only locks of smaller ranks.
class Mutex {
 public:
  explicit constexpr Mutex(int rank) noexcept : bit_(std::uint32_t{1} << rank) {}

  constexpr bool is_before(const Mutex& other) const noexcept { return bit_ < other.bit_; }

  void lock() {
    check_locks(held_locks < bit_, "locks are taken in another order than that of their ranks");
    lock_.lock();
    held_locks |= bit_;
  }
  void unlock() {
    held_locks &= ~bit_;
    lock_.unlock();
  }

  // A driver may fork inside a call of the runtime, while this thread holds the lock.
  void lock_for_fork() {
    if (!(held_locks & bit_)) lock_.lock();
  }
  void unlock_after_fork() {
    if (!(held_locks & bit_)) lock_.unlock();
  }

 private:
  const std::uint32_t bit_;
  std::mutex lock_;
};

// All locks of the core, in the order in which a thread takes them.
struct Locks {
  // The runtime is called under these locks, so that only one thread at a time asks it for devices,
  // or registers memory with it.
  Mutex making{0}, host_registrations{1};
  // Neither the runtime nor Python is called under the other locks.
  Mutex extents{2}, deferred_frees{3}, async_errors{4}, pools{5}, helper{6}, named_queues{7},
      shared_work{8};

  // In the order of the ranks.
  template <class Do>
  constexpr void for_each(const Do& act) {
    auto& [a, b, c, d, e, f, g, h, i] = *this;  // all of them, or it does not compile
    for (Mutex* const lock : {&a, &b, &c, &d, &e, &f, &g, &h, &i}) act(*lock);
  }
};
inline Locks locks;

constexpr bool do_ranks_rise() {
  Locks all;
  const Mutex* last = nullptr;
  bool rise = true;
  all.for_each([&last, &rise](const Mutex& lock) {
    rise = rise && (!last || last->is_before(lock));
    last = &lock;
  });
  return rise;
}
static_assert(do_ranks_rise(), "Locks declares its locks in the order of their ranks");
static_assert(std::is_trivially_destructible_v<Locks>);  // blocks are freed until the very end

}  // namespace sycl_ext
