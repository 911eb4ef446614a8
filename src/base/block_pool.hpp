// SPDX-License-Identifier: Apache-2.0
// Keeps blocks for the next allocation: the SYCL runtime takes 1.2 microseconds and a global lock
// for each pair of malloc and free, however small; a page-aligned block costs the host allocator
// several times a plain one; and memory that has been touched before is several times as fast to
// fill as memory that is fresh from the kernel.  Does not use SYCL, and does not interpret blocks.
#pragma once

#include <cstddef>
#include <vector>

namespace sycl_ext {

// `nbytes` is the true size of the block, not that of the last request, which may be smaller.
struct KeptBlock {
  void* data = nullptr;  // nullptr: none
  std::size_t nbytes = 0;
};

// The blocks of one kind of memory.  The oldest go when there are more than `most_blocks`, or than
// `most` bytes; blocks of more than `largest` bytes are not kept.
class BlockPool {
 public:
  static constexpr std::size_t largest_small = std::size_t{64} << 10, most_blocks = 256;

  BlockPool(std::size_t most, std::size_t largest) noexcept : most_(most), largest_(largest) {}

  // Bytes to ask for: of a small block the next power of two, so that it serves more requests.
  static std::size_t rounded(std::size_t nbytes) noexcept;

  // A kept block of at least `nbytes`, of which less than half is wasted.
  KeptBlock take(std::size_t nbytes) noexcept;
  // Keeps a block; `release` gets the data of those that have to go for it, or its own.
  template <class Release>
  void keep(KeptBlock block, const Release& release) noexcept {
    while (void* const gone = add(&block).data) release(gone);
  }
  // Hands every kept block to `release`.
  template <class Release>
  void drain(const Release& release) {
    for (const KeptBlock& block : take_all()) release(block.data);
  }
  // Of the blocks that are kept now.
  std::size_t nbytes() const noexcept;

 private:
  // Takes the block over, and returns one that has to go.
  KeptBlock add(KeptBlock* block) noexcept;
  std::vector<KeptBlock> take_all() noexcept;

  const std::size_t most_, largest_;
  std::vector<KeptBlock> blocks_;  // oldest first
  std::size_t nbytes_ = 0;
};

}  // namespace sycl_ext
