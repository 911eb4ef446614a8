// SPDX-License-Identifier: Apache-2.0
// Keeps freed blocks for later allocations, which is several times as fast as new memory.  A pair
// of malloc and free of the SYCL runtime takes 1.2 microseconds and a global lock, however small
// the block is.  A page-aligned block costs the host allocator several times as much as another
// block.  Memory that is fresh from the kernel is several times slower to fill than memory that was
// touched before.  This file does not use SYCL, and does not interpret blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sycl_ext {

// `nbytes` is the true size of the block, not that of the last request, which may be smaller.
struct KeptBlock {
  void* data = nullptr;  // nullptr: none
  std::size_t nbytes = 0;
};

// The numbers of a pool.
struct MemoryUse {
  std::int64_t bytes = 0, live = 0;  // of the blocks in use, and their number
  std::int64_t peak = 0, total = 0;  // the most bytes, and the number of all blocks, so far
  std::size_t kept = 0;              // bytes that are kept
};

// The blocks of one kind of memory, in use and kept.  Blocks of more than `largest` bytes are not
// kept.  When more than `most_blocks` blocks or more than `most` bytes are kept, the oldest blocks
// are released.
class BlockPool {
 public:
  static constexpr std::size_t largest_small = std::size_t{64} << 10, most_blocks = 256;

  BlockPool(std::size_t most, std::size_t largest) noexcept : most_(most), largest_(largest) {}

  // Bytes to ask for.  A small request is rounded up to a power of two, so that its block serves
  // more requests.
  static std::size_t rounded(std::size_t nbytes) noexcept;

  // A kept block of at least `nbytes` of which less than half is wasted; otherwise the block that
  // `make` returns.
  template <class Make>
  KeptBlock take(std::size_t nbytes, const Make& make) {
    const KeptBlock kept = take_kept(nbytes);
    if (kept.data) return kept;
    const KeptBlock fresh = make();
    if (fresh.data) add_fresh(fresh.nbytes);
    return fresh;
  }
  // Ends the use of a block.  The block is kept if `may_stay` is true and it is not too large.
  // `release` gets the data of the block if it is not kept, and the data of older blocks that it
  // displaces.
  template <class Release>
  void keep(const KeptBlock& block, const Release& release, bool may_stay = true) noexcept {
    if (!block.data) return;
    const bool is_kept = add(block, may_stay);
    if (!is_kept) {
      release(block.data);
      return;
    }
    while (void* const oldest = take_surplus().data) release(oldest);
  }
  // Hands every kept block to `release`.
  template <class Release>
  void drain(const Release& release) {
    for (const KeptBlock& block : take_all()) release(block.data);
  }
  MemoryUse use() const noexcept;

 private:
  KeptBlock take_kept(std::size_t nbytes) noexcept;
  void add_fresh(std::size_t nbytes) noexcept;
  void count(std::size_t nbytes) noexcept;  // one more block is in use; under the lock
  // Ends the use of a block.  True: the block is kept.
  bool add(const KeptBlock& block, bool may_stay) noexcept;
  // Removes the oldest block if too much is kept.  No data: nothing is to be released.
  KeptBlock take_surplus() noexcept;
  std::vector<KeptBlock> take_all() noexcept;

  const std::size_t most_, largest_;
  std::vector<KeptBlock> blocks_;  // oldest first
  MemoryUse use_;
};

}  // namespace sycl_ext
