// SPDX-License-Identifier: Apache-2.0
// Keeps small blocks for the next allocation: the SYCL runtime takes 1.2 microseconds and
// a global lock for each pair of malloc and free, however small, and a page-aligned block costs the
// host allocator several times a plain one.  Knows neither SYCL nor what a block is.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "base/lock.hpp"

namespace sycl_ext {

// Held for a few instructions at a time, where a mutex would cost more than what it guards.
class SpinLock {
 public:
  void lock() noexcept {
    while (flag_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  }
  void unlock() noexcept { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag flag_ = ATOMIC_FLAG_INIT;
};

class BlockPool {
 public:
  static constexpr std::size_t smallest = 64, largest = std::size_t{64} << 10;

  // Bytes to ask for, so that the block can serve every request of its class.
  static std::size_t rounded(std::size_t nbytes) noexcept;
  static bool serves(std::size_t nbytes) noexcept { return nbytes <= largest; }

  // A kept block of at least `nbytes`, or nullptr.
  void* take(std::size_t nbytes) noexcept;
  // False: the pool is full, and the caller frees the block.
  bool keep(void* block, std::size_t nbytes) noexcept;
  // Bytes of the blocks that are kept now.
  std::size_t kept() noexcept;
  // Hands every kept block to `release`.
  template <class Release>
  void drain(Release release) {
    std::array<std::vector<void*>, 11> kept;
    {
      const std::lock_guard<Ranked<SpinLock>> lock(lock_);
      kept.swap(classes_);
    }
    for (const auto& blocks : kept) {
      for (void* block : blocks) release(block);
    }
  }

 private:
  static constexpr std::size_t kept_bytes = std::size_t{256} << 10;  // in each class
  static int class_of(std::size_t nbytes) noexcept;

  Ranked<SpinLock> lock_{Rank::pools};
  std::array<std::vector<void*>, 11> classes_;  // 64 bytes to 64 KiB, powers of two
};

// The same for a few large blocks, each of its own size: memory that has been touched before is
// several times as fast to fill as memory that is fresh from the kernel.
class LargeBlockPool {
 public:
  // Keeps blocks of up to `largest` bytes, and up to `kept_bytes` of them in all.
  LargeBlockPool(std::size_t largest, std::size_t kept_bytes) noexcept
      : largest_(largest), kept_bytes_(kept_bytes) {}

  // `nbytes` is the true size of the block, whatever was asked of it: a block that came back with
  // the size of the last request would count for less than it holds.
  struct Block {
    void* data;
    std::size_t nbytes;
  };

  // A kept block of at least `nbytes` that wastes at most half of itself; {nullptr, 0}: none.
  Block take(std::size_t nbytes) noexcept;
  // Keeps a block, and returns the blocks that have to go for it (or the block itself).
  std::vector<Block> keep(Block block);
  std::vector<Block> drain();
  std::size_t kept() noexcept;

 private:
  const std::size_t largest_, kept_bytes_;
  Mutex mutex_{Rank::pools};
  std::vector<Block> blocks_;  // oldest first
  std::size_t nbytes_ = 0;
};

}  // namespace sycl_ext
