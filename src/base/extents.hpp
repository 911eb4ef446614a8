// SPDX-License-Identifier: Apache-2.0
// Which of the blocks that are alive contains an address.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>

#include "base/lock.hpp"

namespace sycl_ext {

// Extents of memory, each with an owner; they may overlap and be there several times.  Any thread
// may call; as long as there are none, a question takes no lock.
template <class Owner>
class Extents {
 public:
  void add(const void* begin, std::size_t nbytes, Owner* owner) {
    const std::lock_guard<Mutex> lock(mutex_);
    extents_.emplace(number(begin), Extent{nbytes, owner});
    longest_ = std::max(longest_, nbytes);
    count_.store(extents_.size(), std::memory_order_release);
  }

  // One extent that was added with the same arguments; nothing is done if none was.
  void remove(const void* begin, std::size_t nbytes, Owner* owner) noexcept {
    const std::lock_guard<Mutex> lock(mutex_);
    const auto [first, last] = extents_.equal_range(number(begin));
    for (auto it = first; it != last; ++it) {
      if (it->second.nbytes != nbytes || it->second.owner != owner) continue;
      extents_.erase(it);
      break;
    }
    if (extents_.empty()) longest_ = 0;
    count_.store(extents_.size(), std::memory_order_release);
  }

  // Calls `body` with the owners of the extents that contain the address, the one that begins last
  // first, until it returns true.  None of them can be removed meanwhile.
  template <class Body>
  void visit(const void* address, const Body& body) const noexcept {
    if (count_.load(std::memory_order_acquire) == 0) return;
    const std::uintptr_t wanted = number(address);
    const std::lock_guard<Mutex> lock(mutex_);
    for (auto it = extents_.upper_bound(wanted); it != extents_.begin();) {
      --it;
      const std::uintptr_t offset = wanted - it->first;
      if (offset < it->second.nbytes && body(it->second.owner)) return;
      if (offset >= longest_) return;
    }
  }

 private:
  struct Extent {
    std::size_t nbytes;
    Owner* owner;
  };
  static std::uintptr_t number(const void* address) noexcept {
    return reinterpret_cast<std::uintptr_t>(address);
  }

  mutable Mutex mutex_{Rank::extents};
  std::multimap<std::uintptr_t, Extent> extents_;
  std::size_t longest_ = 0;
  std::atomic<std::size_t> count_{0};
};

}  // namespace sycl_ext
