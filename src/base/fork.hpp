// SPDX-License-Identifier: Apache-2.0
// fork(): the one place of its handlers.
//
// A forked child would wait for ever for a lock that another thread held during the fork, because
// the child has only the thread that forked.  So the handlers take every lock of the core
// (lock.hpp) before the fork, and release it after the fork.  Work that other threads of the core
// had in hand is not continued in the child.
//
// The CPU device works in a child.  A GPU does not: the threads of its driver do not exist in the
// child, and a wait would never end (https://github.com/intel/compute-runtime/issues/954).
#pragma once

#include <atomic>

#include "base/error.hpp"

namespace sycl_ext {

// The handlers of runtime_call.cpp.  The thread that forks calls `before` before it takes the
// locks, and `after` when it has released them.
struct ForkSteps {
  void (*before)() noexcept;
  void (*after)(bool in_child) noexcept;
};
inline std::atomic<const ForkSteps*> fork_steps{nullptr};  // valid for ever

// `process_generation` is the number of forks between the first process and this one.  `first_user`
// is the generation of the first process that used the SYCL runtime; -1: no process has used it.
extern std::atomic<int> process_generation, first_user;
// Whether this process was forked from one that had used the SYCL runtime.
inline bool is_forked_child() noexcept {
  return first_user >= 0 && first_user < process_generation;
}

// Throws Error(runtime) in a forked child, unless the device is a CPU. Other processes do not call
// `is_cpu`.
template <class IsCpu>
void require_not_forked(const IsCpu& is_cpu) {
  if (!is_forked_child() || is_cpu()) return;
  fail(Error::Kind::runtime,
       "this process was forked after its parent had used a SYCL device, and a forked child cannot "
       "use a GPU; use the 'spawn' or 'forkserver' start method, or copy to the host before the "
       "fork");
}

}  // namespace sycl_ext
