// SPDX-License-Identifier: Apache-2.0
// CPython before 3.14 calls pthread_exit() in a thread that requests the GIL while the
// interpreter is finalizing (https://github.com/python/cpython/issues/87135).  glibc implements it
// as a forced unwind: an exception that runs destructors, which would need the GIL, that no handler
// may swallow, and that ends the process at a noexcept.  Catch that unwind and park the thread.
#pragma once

#include <cxxabi.h>
#include <unistd.h>

namespace sycl_ext {

// Parks the thread until the process ends, as CPython 3.14 does.
[[noreturn]] inline void hang() noexcept {
  for (;;) pause();
}

// Runs `call`; a forced unwind out of it parks the thread.
template <class Call>
auto hang_at_thread_end(Call&& call) -> decltype(call()) {
  try {
    return call();
  } catch (const abi::__forced_unwind&) {
    hang();
  }
}

}  // namespace sycl_ext
