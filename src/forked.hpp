// SPDX-License-Identifier: Apache-2.0
// Floor 1. Whether this process was forked from one that had used the SYCL runtime.
//
// The CPU device works in such a process.  The driver of a GPU does not: its threads are gone, and
// a wait would have no end.
#pragma once

#include <pthread.h>

#include <atomic>

#include "error.hpp"

namespace sycl_ext {

inline std::atomic<bool> forked{false};

// To be called once, when the runtime is used for the first time.
inline void watch_for_forks() {
  pthread_atfork(nullptr, nullptr, [] { forked = true; });
}

// Error(runtime) in a forked process, unless the device is a CPU.  `is_cpu` is not asked elsewhere.
template <class IsCpu>
void require_not_forked(const IsCpu& is_cpu) {
  if (!forked.load(std::memory_order_relaxed) || is_cpu()) return;
  fail(Error::Kind::runtime,
       "this process was forked from one that had used its SYCL devices, and a GPU does not work "
       "after that; start processes with the method 'spawn' or 'forkserver', or copy to the host "
       "before the fork");
}

}  // namespace sycl_ext
