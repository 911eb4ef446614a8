// SPDX-License-Identifier: Apache-2.0
// The locks of the core, which a fork takes (fork.hpp), and values that are made when first needed.
//
// No guard of a function static serves here: a fork does not wait for the thread that holds it, and
// the child then waits for ever.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <type_traits>

#include "base/fork.hpp"

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

// A lock that a thread takes under those of smaller ranks only.
class Mutex {
 public:
  explicit constexpr Mutex(int rank) noexcept : bit_(std::uint32_t{1} << rank) {}

  void lock() {
    check_locks(held_locks < bit_, "locks are taken in another order than that of their ranks");
    lock_.lock();
    held_locks |= bit_;
  }
  void unlock() {
    held_locks &= ~bit_;
    lock_.unlock();
  }

  // A driver may fork under a lock that is held while the runtime is called.
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
  // The runtime is called under these, so that one thread asks it, or registers memory with it.
  Mutex making{0}, host_registrations{1};
  // Neither the runtime nor Python is called under the others.
  Mutex extents{2}, deferred_frees{3}, async_errors{4}, pools{5};

  template <class Do>
  void for_each(const Do& what) {
    auto& [a, b, c, d, e, f] = *this;  // all of them, or it does not compile
    what(a), what(b), what(c), what(d), what(e), what(f);
  }
};
inline Locks locks;
static_assert(std::is_trivially_destructible_v<Locks>);  // blocks are freed until the very end

// A value that is made when first needed, and never destroyed.  Threads may make it at the same
// time, without a lock: the first one that is ready stays.
//
// `per_process`: a forked child makes another one, and leaves that of its parent as it was: threads
// that are gone may have been in the middle of it.
template <class T, bool per_process = false>
class FirstMade {
 public:
  struct Made {
    T value;
    Made* const of_parent;
    const int process = process_generation;
  };

  // `make` gives a T.  When it cannot be made, the next call tries again.
  template <class Make>
  T& get(const Make& make) {
    Made* newest = newest_;
    if (T* const value = value_of(newest)) return *value;
    std::unique_ptr<Made> mine(new Made{make(), newest});
    return (newest_.compare_exchange_strong(newest, mine.get()) ? mine.release() : newest)->value;
  }
  // The same by one thread, while the others, and a fork, wait.
  template <class Make>
  T& get_once(const Make& make) {
    if (T* const value = made()) return *value;
    const std::lock_guard<Mutex> lock(locks.making);
    return get(make);
  }
  // nullptr: nobody has needed it so far (in this process).
  T* made() const noexcept { return value_of(newest()); }
  // Of this process, or of the last one before it that has made one.
  Made* newest() const noexcept { return newest_.load(std::memory_order_acquire); }

 private:
  static T* value_of(Made* one) noexcept {
    const bool is_known = one && (!per_process || one->process == process_generation);
    return is_known ? &one->value : nullptr;
  }
  std::atomic<Made*> newest_{nullptr};
};

}  // namespace sycl_ext
