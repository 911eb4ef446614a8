// SPDX-License-Identifier: Apache-2.0
#include "base/block_pool.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/lock.hpp"

namespace sycl_ext {

std::size_t BlockPool::rounded(std::size_t nbytes) noexcept {
  if (nbytes > largest_small) return nbytes;
  std::size_t size = 64;
  while (size < nbytes) size *= 2;
  return size;
}

KeptBlock BlockPool::take(std::size_t nbytes) noexcept {
  const std::size_t wanted = rounded(nbytes);
  const std::lock_guard<Mutex> lock(locks.pools);
  const auto found = std::find_if(blocks_.rbegin(), blocks_.rend(), [wanted](const KeptBlock& one) {
    return one.nbytes >= wanted && one.nbytes / 2 < wanted;
  });
  if (found == blocks_.rend()) return {};
  const KeptBlock block = *found;
  blocks_.erase(std::next(found).base());
  nbytes_ -= block.nbytes;
  return block;
}

KeptBlock BlockPool::add(KeptBlock* block) noexcept {
  const std::lock_guard<Mutex> lock(locks.pools);
  if (const KeptBlock added{std::exchange(block->data, nullptr), block->nbytes}; added.data) {
    if (added.nbytes > largest_) return added;
    try {
      blocks_.push_back(added);
    } catch (...) {  // no memory to remember the block with
      return added;
    }
    nbytes_ += added.nbytes;
  }
  if (nbytes_ <= most_ && blocks_.size() <= most_blocks) return {};
  const KeptBlock oldest = blocks_.front();
  blocks_.erase(blocks_.begin());
  nbytes_ -= oldest.nbytes;
  return oldest;
}

std::vector<KeptBlock> BlockPool::take_all() noexcept {
  const std::lock_guard<Mutex> lock(locks.pools);
  nbytes_ = 0;
  return std::exchange(blocks_, {});
}

std::size_t BlockPool::nbytes() const noexcept {
  const std::lock_guard<Mutex> lock(locks.pools);
  return nbytes_;
}

}  // namespace sycl_ext
