// SPDX-License-Identifier: Apache-2.0
// How much memory there is of a kind: counters that every allocation changes, without a lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sycl_ext {

class MemoryUse {
 public:
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

 private:
  std::atomic<std::int64_t> bytes_{0}, peak_{0}, total_{0}, gone_{0};
};

}  // namespace sycl_ext
