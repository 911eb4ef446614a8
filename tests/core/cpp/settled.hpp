// SPDX-License-Identifier: Apache-2.0
// Blocks that are alive when those that waited for pending work are freed.
#pragma once

#include <chrono>
#include <thread>

#include "runtime/devices/device_table.hpp"
#include "runtime/memory/reaper.hpp"
#include "runtime/memory/usm.hpp"
#include "runtime/memory/usm_pointers.hpp"

inline void wait_for_deferred_frees() {
  for (int tries = 0; sycl_ext::deferred_frees() > 0 && tries < 60000; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

inline long settled_allocations() {
  wait_for_deferred_frees();
  return sycl_ext::live_allocations();
}
