// SPDX-License-Identifier: Apache-2.0
// The locks of the core: each has a rank (fork.hpp), and a fork takes it.
//
// A thread takes them in the order of their ranks.  Debug builds and the C++ tests check that, and
// end the process where it does not hold.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>

#include "base/fork.hpp"

namespace sycl_ext {

inline void check_locks([[maybe_unused]] bool is_met,
                        [[maybe_unused]] const char* failure) noexcept {
#if defined(SYCL_EXT_CHECK_LOCKS) || !defined(NDEBUG)
  if (is_met) return;
  std::fprintf(stderr, "sycl_ext: %s\n", failure);
  std::abort();
#endif
}

template <class Lock>
class Ranked final : AtFork {
 public:
  explicit Ranked(Rank rank) noexcept : AtFork(rank) {}

  void lock() {
    check_locks(held_ < bit(), "locks are taken in another order than that of their ranks");
    lock_.lock();
    held_ |= bit();
  }
  void unlock() {
    held_ &= ~bit();
    lock_.unlock();
  }

 private:
  std::uint32_t bit() const noexcept { return std::uint32_t{1} << static_cast<int>(rank_); }
  // A driver may fork under a lock that is held while the runtime is called.
  bool is_held_here() const noexcept { return (held_ & bit()) != 0; }

  void before_fork() noexcept override {
    if (!is_held_here()) lock_.lock();
  }
  void after_fork(bool) noexcept override {
    if (!is_held_here()) lock_.unlock();
  }

  Lock lock_;
};

using Mutex = Ranked<std::mutex>;

// A value that the first thread makes, and the others wait for.  The guard of a function
// static does the same, but a fork does not wait for it, and a child then waits for ever.  Never
// destroyed; when it cannot be made, the next call tries again.
template <class T>
class MadeOnce {
 public:
  explicit MadeOnce(Rank rank) : mutex_(*new Mutex(rank)) {}

  template <class Make>
  T& get(const Make& make) {
    if (T* const value = made()) return *value;
    const std::lock_guard<Mutex> lock(mutex_);
    if (!made()) made_.store(make(), std::memory_order_release);
    return *made();
  }
  // nullptr: nobody has needed it so far.
  T* made() const noexcept { return made_.load(std::memory_order_acquire); }

 private:
  Mutex& mutex_;
  std::atomic<T*> made_{nullptr};
};

// The same without a lock, for what may be made several times: the first one that is ready stays.
template <class T>
class FirstMade {
 public:
  // `make` gives a unique_ptr.
  template <class Make>
  T& get(const Make& make) {
    if (T* const value = made()) return *value;
    std::unique_ptr<T> mine = make();
    T* faster = nullptr;
    return made_.compare_exchange_strong(faster, mine.get()) ? *mine.release() : *faster;
  }
  // nullptr: nobody has needed it so far.
  T* made() const noexcept { return made_.load(std::memory_order_acquire); }

 private:
  std::atomic<T*> made_{nullptr};
};

}  // namespace sycl_ext
