// SPDX-License-Identifier: Apache-2.0
// fork(): the one place of its handlers.
//
// The child has one thread, the one that forked.  A lock that another thread held stays locked
// there for ever, so every lock of the core (lock.hpp) is taken before the fork and released after
// it; and what threads of the core were doing is not done in the child.
//
// The CPU device works in a child.  The driver of a GPU does not: its threads are gone, and a wait
// would have no end (https://github.com/intel/compute-runtime/issues/954).
#pragma once

#include <atomic>

#include "base/error.hpp"

namespace sycl_ext {

// The steps of a fork for the calls of the SYCL runtime (runtime_call.cpp), in the thread that
// forks: before it takes the locks, and after it has released them.
struct ForkSteps {
  void (*before)() noexcept;
  void (*after)(bool in_child) noexcept;
};
inline std::atomic<const ForkSteps*> fork_steps{nullptr};  // valid for ever

// The number of forks between the first process and this one; and the same of the first one that
// used the SYCL runtime, -1: none has.
extern std::atomic<int> process_generation, first_user;
// Whether this process was forked from one that had used the SYCL runtime.
inline bool is_forked_child() noexcept {
  return first_user >= 0 && first_user < process_generation;
}

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
