// SPDX-License-Identifier: Apache-2.0
// Keeps blocks for the next allocation: the SYCL runtime takes 1.2 microseconds and a global lock
// for each pair of malloc and free, however small; a page-aligned block costs the host allocator
// several times a plain one; and memory that has been touched before is several times as fast to
// fill as memory that is fresh from the kernel.  Does not use SYCL, and does not interpret blocks.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

#include "base/lock.hpp"

namespace sycl_ext {

// Held for a few instructions at a time, less than the cost of a mutex.
class SpinLock {
 public:
  void lock() noexcept {
    while (flag_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  }
  void unlock() noexcept { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag flag_ = ATOMIC_FLAG_INIT;
};

// `nbytes` is the true size of the block, whatever was asked of it: a block that came back with the
// size of the last request would count for less than it holds.
struct KeptBlock {
  void* data;
  std::size_t nbytes;
};

// Small blocks, in classes of powers of two, and a few large ones, each of its own size.
class BlockPool {
 public:
  static constexpr std::size_t largest_small = std::size_t{64} << 10;
  static constexpr std::size_t large = 11;  // the class after those of 64 bytes to 64 KiB

  // Keeps 256 KiB in each class of small blocks, and so many bytes of large ones, none of which is
  // more than half of that.
  explicit BlockPool(std::size_t most_of_large = 0) noexcept : most_of_large_(most_of_large) {}

  // Bytes to ask for, so that the block can serve every request of its class.
  static std::size_t rounded(std::size_t nbytes) noexcept;
  static bool is_small(std::size_t nbytes) noexcept { return nbytes <= largest_small; }

  // A kept block of at least `nbytes`, of which at most half is wasted; {nullptr, 0}: none.
  KeptBlock take(std::size_t nbytes) noexcept;
  // Keeps a block; `release` gets the data of large ones that have to go for it, the oldest first,
  // or its own.
  template <class Release>
  void keep(KeptBlock block, const Release& release) noexcept {
    while (void* const gone = add(&block).data) release(gone);
  }
  // Hands every kept block to `release`.
  template <class Release>
  void drain(const Release& release) {
    std::array<Class, large + 1> kept;
    {
      const std::lock_guard<Ranked<SpinLock>> lock(lock_);
      std::swap(kept, classes_);
    }
    for (const Class& one : kept) {
      for (const KeptBlock& block : one.blocks) release(block.data);
    }
  }
  // Bytes of the blocks that are kept now.
  std::size_t kept() noexcept;

 private:
  struct Class {
    std::vector<KeptBlock> blocks;  // oldest first
    std::size_t nbytes = 0;
  };

  // Takes the block over, and returns one that has to go; {nullptr, 0}: none.
  KeptBlock add(KeptBlock* block) noexcept;

  const std::size_t most_of_large_;
  Ranked<SpinLock> lock_{Rank::pools};
  std::array<Class, large + 1> classes_;
};

}  // namespace sycl_ext
