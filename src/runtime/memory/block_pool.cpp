// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory/block_pool.hpp"

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

void BlockPool::count(std::size_t nbytes) noexcept {
  use_.bytes += static_cast<std::int64_t>(nbytes);
  use_.peak = std::max(use_.peak, use_.bytes);
  ++use_.live;
  ++use_.total;
}

void BlockPool::add_fresh(std::size_t nbytes) noexcept {
  const std::lock_guard<Mutex> lock(locks.pools);
  count(nbytes);
}

KeptBlock BlockPool::take_kept(std::size_t nbytes) noexcept {
  const std::size_t wanted = rounded(nbytes);
  const std::lock_guard<Mutex> lock(locks.pools);
  const auto fitting =
      std::find_if(blocks_.rbegin(), blocks_.rend(), [wanted](const KeptBlock& block) {
        return block.nbytes >= wanted && block.nbytes / 2 < wanted;
      });
  if (fitting == blocks_.rend()) return {};
  const KeptBlock block = *fitting;
  blocks_.erase(std::next(fitting).base());
  use_.kept -= block.nbytes;
  count(block.nbytes);
  return block;
}

bool BlockPool::add(const KeptBlock& block, bool may_stay) noexcept {
  const std::lock_guard<Mutex> lock(locks.pools);
  use_.bytes -= static_cast<std::int64_t>(block.nbytes);
  --use_.live;
  if (!may_stay || block.nbytes > largest_) return false;
  try {
    blocks_.push_back(block);
  } catch (...) {  // there is no memory to record the block
    return false;
  }
  use_.kept += block.nbytes;
  return true;
}

KeptBlock BlockPool::take_surplus() noexcept {
  const std::lock_guard<Mutex> lock(locks.pools);
  if (use_.kept <= most_ && blocks_.size() <= most_blocks) return {};
  const KeptBlock oldest = blocks_.front();
  blocks_.erase(blocks_.begin());
  use_.kept -= oldest.nbytes;
  return oldest;
}

std::vector<KeptBlock> BlockPool::take_all() noexcept {
  const std::lock_guard<Mutex> lock(locks.pools);
  use_.kept = 0;
  return std::exchange(blocks_, {});
}

MemoryUse BlockPool::use() const noexcept {
  const std::lock_guard<Mutex> lock(locks.pools);
  return use_;
}

}  // namespace sycl_ext
