// SPDX-License-Identifier: Apache-2.0
// fork(): the one place of its handlers.
//
// The child has one thread, the one that forked.  A lock that another thread held stays locked
// there for ever, so every lock of the core that a thread may hold at any time is taken before the
// fork and released after it; and what threads of the core were doing is not done in the child.
//
// The CPU device works in a child.  The driver of a GPU does not: its threads are gone, and a wait
// would have no end (https://github.com/intel/compute-runtime/issues/954).
#pragma once

#include "base/error.hpp"

namespace sycl_ext {

// Something with a lock or a thread.  Its functions run in the thread that forks.
class ForkHandler {
 public:
  ForkHandler(const ForkHandler&) = delete;
  ForkHandler& operator=(const ForkHandler&) = delete;

  virtual void before_fork() noexcept = 0;
  virtual void after_fork_in_parent() noexcept = 0;
  virtual void after_fork_in_child() noexcept = 0;

 protected:
  ForkHandler();
  ~ForkHandler();

 private:
  friend struct ForkHandlers;
  ForkHandler *previous_ = nullptr, *next_ = nullptr;
};

// Whether this process was forked from one that had used the SYCL runtime.
bool is_forked_child() noexcept;
// From now on a child counts as forked; to be called when the runtime is used for the first time.
void watch_for_forks();

// Error(runtime) in a forked child, unless the device is a CPU.  `is_cpu` is not asked elsewhere.
template <class IsCpu>
void require_not_forked(const IsCpu& is_cpu) {
  if (!is_forked_child() || is_cpu()) return;
  fail(Error::Kind::runtime,
       "this process was forked from one that had used its SYCL devices, and a GPU does not work "
       "after that; start processes with the method 'spawn' or 'forkserver', or copy to the host "
       "before the fork");
}

}  // namespace sycl_ext
