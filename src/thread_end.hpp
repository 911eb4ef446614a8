// SPDX-License-Identifier: Apache-2.0
// Floor 0. What becomes of a thread that is ended from outside, by pthread_exit in the middle of a
// call: CPython before 3.14 does that to a thread that asks for the GIL of an interpreter that is
// going.  It unwinds the stack with an exception that nobody may swallow, running destructors that
// need the GIL, and ends the process where it meets a noexcept.
#pragma once

#include <cxxabi.h>
#include <unistd.h>

namespace sycl_ext {

// Lets the thread hang until the process ends, as CPython 3.14 does.
[[noreturn]] inline void hang() noexcept {
  for (;;) pause();
}

// Runs `call`; a thread that is ended there hangs there.
template <class Call>
auto hang_at_thread_end(Call&& call) -> decltype(call()) {
  try {
    return call();
  } catch (const abi::__forced_unwind&) {
    hang();
  }
}

}  // namespace sycl_ext
