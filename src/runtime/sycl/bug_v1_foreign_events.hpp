// SPDX-License-Identifier: Apache-2.0
// Works around a bug of the v1 adapter of Level Zero: while it adds an event of another device to a
// queue, it unlocks the queue, and unlocks it once more if the driver fails meanwhile.  The queue
// then hangs, or two threads are in it.  (createAndRetainUrZeEventList in
// https://github.com/oneapi-src/unified-runtime/blob/main/source/adapters/level_zero/event.cpp)
//
// Report: docs/develop/reports/level-zero-v1-failures.md
// Repaired in: no release so far (2026.2.0 has it).
// Then: delete this file, and the line in queue.cpp that calls it.
#pragma once

#include "runtime/sycl/handles.hpp"

namespace sycl_ext::bug {

// Whether commands of a queue of the first device must not depend on events of the second one.
inline bool unlocks_twice(const sycl::device& device, const sycl::device& other) {
  return device != other && is_level_zero_v1(device);
}

}  // namespace sycl_ext::bug
