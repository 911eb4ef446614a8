// SPDX-License-Identifier: Apache-2.0
// How many exports and blocks are alive, which each of them changes twice.
//
// An atomic addition would be a fifth of an export.  So each thread has cells of its own, which it
// alone writes to, and the number is the sum of all: a cell is negative where a thread gives back
// what others have made.
#pragma once

#include <atomic>
#include <cstddef>

namespace sycl_ext {

enum class Counted : std::size_t { exports, blocks };

struct CountCells {
  std::atomic<long> values[2] = {0, 0};
  std::atomic<bool> is_taken{true};  // by a thread that has not ended
  CountCells* next = nullptr;
};

extern __thread CountCells* own_count_cells __attribute__((tls_model("initial-exec")));

// The first time in a thread.
void count_first(Counted what, long change) noexcept;

inline void count(Counted what, long change) noexcept {
  if (!own_count_cells) return count_first(what, change);
  std::atomic<long>& value = own_count_cells->values[static_cast<std::size_t>(what)];
  value.store(value.load(std::memory_order_relaxed) + change, std::memory_order_relaxed);
}

// Those that other threads are changing meanwhile count or do not.
long counted(Counted what) noexcept;

}  // namespace sycl_ext
