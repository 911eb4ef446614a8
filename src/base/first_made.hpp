// SPDX-License-Identifier: Apache-2.0
// Values that are made when first needed.
//
// A function static does not serve here: a fork does not wait for the thread that holds its guard,
// and the child then waits for it for ever.
#pragma once

#include <atomic>
#include <memory>

#include "base/fork.hpp"
#include "base/lock.hpp"

namespace sycl_ext {

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
    const bool is_first = newest_.compare_exchange_strong(newest, mine.get());
    return is_first ? mine.release()->value : newest->value;
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
  static T* value_of(Made* made) noexcept {
    const bool is_known = made && (!per_process || made->process == process_generation);
    return is_known ? &made->value : nullptr;
  }
  std::atomic<Made*> newest_{nullptr};
};

}  // namespace sycl_ext
