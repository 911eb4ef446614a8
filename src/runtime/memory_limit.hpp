// SPDX-License-Identifier: Apache-2.0
// How much memory there is of each kind on each device, and how much there may be.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/block_pool.hpp"
#include "runtime/usm_kind.hpp"

namespace sycl_ext {

// Counters that every allocation of a kind changes, without a lock; and the blocks that are kept
// for the next allocations, whose limits the pool is made with.
class MemoryUse {
 public:
  MemoryUse(std::size_t most, std::size_t largest) noexcept : kept(most, largest) {}

  void begins(std::size_t nbytes) noexcept {
    const auto size = static_cast<std::int64_t>(nbytes);
    const std::int64_t now = bytes_.fetch_add(size, std::memory_order_relaxed) + size;
    std::int64_t peak = peak_.load(std::memory_order_relaxed);
    while (peak < now && !peak_.compare_exchange_weak(peak, now, std::memory_order_relaxed)) {
    }
    total_.fetch_add(1, std::memory_order_relaxed);
  }
  void ends(std::size_t nbytes) noexcept {
    bytes_.fetch_sub(static_cast<std::int64_t>(nbytes), std::memory_order_relaxed);
    gone_.fetch_add(1, std::memory_order_relaxed);
  }

  // Each number by itself: other threads go on meanwhile.
  std::int64_t bytes() const noexcept { return bytes_.load(std::memory_order_relaxed); }
  std::int64_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }
  std::int64_t total() const noexcept { return total_.load(std::memory_order_relaxed); }
  std::int64_t live() const noexcept { return total() - gone_.load(std::memory_order_relaxed); }

  BlockPool kept;

 private:
  std::atomic<std::int64_t> bytes_{0}, peak_{0}, total_{0}, gone_{0};
};

// Of the allocations of an entry; entry nullptr: of host memory.
MemoryUse& use_of(const Entry* entry, UsmKind kind) noexcept;

// 'device' and 'shared' USM of the device of an entry; of a root device's, also that of its parts
// and of its private contexts.
std::int64_t bytes_on(const Entry& entry) noexcept;

// An allocation of so many bytes on the entry does not fit.  Waits for blocks with pending work
// that are to be freed, then calls the handler for the device of the entry and for its root device,
// and so on, until `has_room` is true.  False: there is none, and the handler returned false, or
// freed nothing.  An allocation of the handler itself only waits.
bool is_room_made(const Entry& entry, UsmKind kind, std::size_t nbytes,
                  const std::function<bool()>& has_room);

// The entry whose limit the allocation would pass; nullptr: there is none.
const Entry* passed_limit(const Entry& entry, UsmKind kind, std::size_t nbytes) noexcept;

}  // namespace sycl_ext
