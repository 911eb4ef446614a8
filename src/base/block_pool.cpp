// SPDX-License-Identifier: Apache-2.0
#include "base/block_pool.hpp"

#include <iterator>

namespace sycl_ext {

namespace {

constexpr std::size_t kept_of_a_class = std::size_t{256} << 10;  // bytes

}  // namespace

std::size_t BlockPool::class_of(std::size_t nbytes) noexcept {
  std::size_t index = 0;
  for (std::size_t size = smallest; size < nbytes; size *= 2) ++index;
  return index;
}

std::size_t BlockPool::rounded(std::size_t nbytes) noexcept {
  return is_small(nbytes) ? smallest << class_of(nbytes) : nbytes;
}

KeptBlock BlockPool::take(std::size_t nbytes) noexcept {
  const std::lock_guard<Ranked<SpinLock>> lock(lock_);
  if (is_small(nbytes)) {
    const std::size_t index = class_of(nbytes);
    std::vector<void*>& blocks = blocks_.small[index];
    if (blocks.empty()) return {nullptr, 0};
    void* const data = blocks.back();
    blocks.pop_back();
    return {data, smallest << index};
  }
  std::vector<KeptBlock>& blocks = blocks_.large;
  for (auto it = blocks.rbegin(); it != blocks.rend(); ++it) {
    if (it->nbytes < nbytes || it->nbytes / 2 > nbytes) continue;
    const KeptBlock found = *it;
    blocks.erase(std::next(it).base());
    blocks_.large_nbytes -= found.nbytes;
    return found;
  }
  return {nullptr, 0};
}

std::vector<KeptBlock> BlockPool::add(KeptBlock block) {
  const std::lock_guard<Ranked<SpinLock>> lock(lock_);
  if (is_small(block.nbytes)) {
    std::vector<void*>& blocks = blocks_.small[class_of(block.nbytes)];
    if ((blocks.size() + 1) * block.nbytes > kept_of_a_class) return {block};
    blocks.push_back(block.data);
    return {};
  }
  if (block.nbytes > largest_) return {block};
  std::vector<KeptBlock> gone;
  std::vector<KeptBlock>& blocks = blocks_.large;
  gone.reserve(blocks.size() + 1);  // nothing may fail once the block is kept
  blocks.push_back(block);
  blocks_.large_nbytes += block.nbytes;
  while (blocks_.large_nbytes > kept_bytes_) {
    gone.push_back(blocks.front());
    blocks_.large_nbytes -= blocks.front().nbytes;
    blocks.erase(blocks.begin());
  }
  return gone;
}

std::size_t BlockPool::kept() noexcept {
  const std::lock_guard<Ranked<SpinLock>> lock(lock_);
  std::size_t nbytes = blocks_.large_nbytes;
  for (std::size_t index = 0; index < blocks_.small.size(); ++index) {
    nbytes += blocks_.small[index].size() * (smallest << index);
  }
  return nbytes;
}

}  // namespace sycl_ext
