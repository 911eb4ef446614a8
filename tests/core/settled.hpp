// SPDX-License-Identifier: Apache-2.0
// Blocks that are alive when those that waited for pending work are freed.
#pragma once

#include <chrono>
#include <thread>

#include "runtime/deferred_free.hpp"
#include "runtime/usm.hpp"

inline long settled_allocations() {
  for (int tries = 0; sycl_ext::deferred_frees() > 0 && tries < 5000; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return sycl_ext::live_allocations();
}
