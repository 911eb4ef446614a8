// SPDX-License-Identifier: Apache-2.0
// Values that are made when first needed.
//
// A static variable of a function could block a forked child for ever: a fork does not wait for the
// thread that initializes the variable, so the guard of the variable stays locked in the child.
#pragma once

#include <atomic>
#include <memory>

#include "base/fork.hpp"
#include "base/lock.hpp"

namespace sycl_ext {

// A value that is made when first needed, and never destroyed.  Several threads may make the value
// at the same time, without a lock: the first value that is ready is kept, the others are dropped.
//
// `per_process`: a forked child makes a value of its own and does not touch the value of its
// parent, because a thread of the parent may have been changing that value during the fork.
template <class T, bool per_process = false>
class FirstMade {
 public:
  struct Made {
    T value;
    // The value of a parent process that this one replaces; nullptr: this is the first value.
    Made* const before;
    const int process = process_generation;
  };

  // `make` returns a T. If `make` throws, the next call tries again.
  template <class Make>
  T& get(const Make& make) {
    Made* newest = newest_;
    if (T* const value = value_of(newest)) return *value;
    std::unique_ptr<Made> mine(new Made{make(), newest});
    const bool is_first = newest_.compare_exchange_strong(newest, mine.get());
    return is_first ? mine.release()->value : newest->value;
  }
  // The same, but only one thread makes the value.  Other threads, and a fork, wait for it.
  template <class Make>
  T& get_once(const Make& make) {
    if (T* const value = made()) return *value;
    const std::lock_guard<Mutex> lock(locks.making);
    return get(make);
  }
  // nullptr: the value has not been made yet (in this process).
  T* made() const noexcept { return value_of(newest()); }
  // The newest value of this process, or else of the nearest parent process that made one.
  Made* newest() const noexcept { return newest_.load(std::memory_order_acquire); }

 private:
  static T* value_of(Made* made) noexcept {
    const bool is_known = made && (!per_process || made->process == process_generation);
    return is_known ? &made->value : nullptr;
  }
  std::atomic<Made*> newest_{nullptr};
};

}  // namespace sycl_ext
