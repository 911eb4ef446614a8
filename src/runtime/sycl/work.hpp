// SPDX-License-Identifier: Apache-2.0
// Is the work over?  The one question to an event, a queue and a block (their `work(how)`).
#pragma once

#include <cstdint>

namespace sycl_ext {

enum class Work : std::uint8_t {
  none,     // all of it is over, and no error is left to report
  pending,  // the runtime says that work goes on
  unknown,  // the work may go on, or an error may be left: only a wait, or a larger `How`, shows
};

// What the caller can bear.
enum class How : std::uint8_t {
  // Reads counters of this package.  It calls neither the runtime nor Python, so it may be called
  // anywhere.  The answer is `none` or `unknown`.
  counters,
  // Asks a runtime that answers without the lock of the queue.  It may submit a barrier, for which
  // it waits some microseconds.
  ask,
  // Asks every runtime.  The v1 adapter of Level Zero answers under the lock of the queue, which it
  // holds while a thread waits for the queue.
  ask_under_lock,
};

}  // namespace sycl_ext
