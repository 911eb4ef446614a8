// SPDX-License-Identifier: Apache-2.0
// Works around a bug of the v1 adapter of Level Zero: it releases the event of the barrier of a
// profiling tag twice, and ends the process if another thread submits meanwhile.
//
// Report: https://github.com/oneapi-src/unified-runtime/issues/2347
// Repaired in: no release so far (2026.2.0 has it).
// Then: delete this file, and the line in device_mark.cpp that calls it.
#pragma once

#include "runtime/sycl/handles.hpp"

namespace sycl_ext::bug {

inline bool ends_process_by_profiling_tag(const sycl::device& device) {
  return is_level_zero_v1(device);
}

}  // namespace sycl_ext::bug
