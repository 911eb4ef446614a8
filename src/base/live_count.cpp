// SPDX-License-Identifier: Apache-2.0
#include "base/live_count.hpp"

#include <new>

namespace sycl_ext {

__thread CountCells* own_count_cells __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {

// Never freed: a thread may count after all static objects are gone.
std::atomic<CountCells*> all_cells{nullptr};
// For threads that got no memory for cells, which share this one.
CountCells shared_cells;

// The cells of a thread that has ended keep their numbers, and serve the next thread.
struct GivenBackAtThreadEnd {
  bool is_needed = false;
  ~GivenBackAtThreadEnd() {
    if (own_count_cells) own_count_cells->is_taken.store(false, std::memory_order_release);
    own_count_cells = nullptr;
  }
};
thread_local GivenBackAtThreadEnd given_back;

CountCells* take_cells() noexcept {
  for (CountCells* cells = all_cells; cells; cells = cells->next) {
    bool is_taken = false;
    if (cells->is_taken.compare_exchange_strong(is_taken, true)) return cells;
  }
  auto* const cells = new (std::nothrow) CountCells;
  if (!cells) return nullptr;
  cells->next = all_cells;
  while (!all_cells.compare_exchange_weak(cells->next, cells)) {
  }
  return cells;
}

}  // namespace

void count_first(Counted what, long change) noexcept {
  own_count_cells = take_cells();
  if (own_count_cells) {
    given_back.is_needed = true;  // makes the object that gives them back
    return count(what, change);
  }
  shared_cells.values[static_cast<std::size_t>(what)] += change;
}

long counted(Counted what) noexcept {
  const auto index = static_cast<std::size_t>(what);
  long sum = shared_cells.values[index];
  for (const CountCells* cells = all_cells; cells; cells = cells->next) {
    sum += cells->values[index].load(std::memory_order_relaxed);
  }
  return sum;
}

}  // namespace sycl_ext
