// SPDX-License-Identifier: Apache-2.0
#include "base/block_pool.hpp"

#include <utility>

namespace sycl_ext {

int BlockPool::class_of(std::size_t nbytes) noexcept {
  int index = 0;
  for (std::size_t size = smallest; size < nbytes; size *= 2) ++index;
  return index;
}

std::size_t BlockPool::rounded(std::size_t nbytes) noexcept {
  return serves(nbytes) ? smallest << class_of(nbytes) : nbytes;
}

void* BlockPool::take(std::size_t nbytes) noexcept {
  auto& blocks = classes_[static_cast<std::size_t>(class_of(nbytes))];
  const std::lock_guard<Ranked<SpinLock>> lock(lock_);
  if (blocks.empty()) return nullptr;
  void* block = blocks.back();
  blocks.pop_back();
  return block;
}

bool BlockPool::keep(void* block, std::size_t nbytes) noexcept {
  const int index = class_of(nbytes);
  auto& blocks = classes_[static_cast<std::size_t>(index)];
  const std::lock_guard<Ranked<SpinLock>> lock(lock_);
  if ((blocks.size() + 1) * (smallest << index) > kept_bytes) return false;
  try {
    blocks.push_back(block);
  } catch (...) {
    return false;
  }
  return true;
}

std::size_t BlockPool::kept() noexcept {
  const std::lock_guard<Ranked<SpinLock>> lock(lock_);
  std::size_t nbytes = 0;
  for (std::size_t index = 0; index < classes_.size(); ++index) {
    nbytes += classes_[index].size() * (smallest << index);
  }
  return nbytes;
}

LargeBlockPool::Block LargeBlockPool::take(std::size_t nbytes) noexcept {
  const std::lock_guard<Mutex> lock(mutex_);
  for (auto it = blocks_.rbegin(); it != blocks_.rend(); ++it) {
    if (it->nbytes < nbytes || it->nbytes / 2 > nbytes) continue;
    const Block found = *it;
    blocks_.erase(std::next(it).base());
    nbytes_ -= found.nbytes;
    return found;
  }
  return {nullptr, 0};
}

std::vector<LargeBlockPool::Block> LargeBlockPool::keep(Block block) {
  if (block.nbytes > largest_) return {block};
  std::vector<Block> gone;
  const std::lock_guard<Mutex> lock(mutex_);
  gone.reserve(blocks_.size() + 1);  // nothing may fail once the block is kept
  blocks_.push_back(block);
  nbytes_ += block.nbytes;
  while (nbytes_ > kept_bytes_) {
    gone.push_back(blocks_.front());
    nbytes_ -= blocks_.front().nbytes;
    blocks_.erase(blocks_.begin());
  }
  return gone;
}

std::vector<LargeBlockPool::Block> LargeBlockPool::drain() {
  const std::lock_guard<Mutex> lock(mutex_);
  nbytes_ = 0;
  return std::move(blocks_);
}

std::size_t LargeBlockPool::kept() noexcept {
  const std::lock_guard<Mutex> lock(mutex_);
  return nbytes_;
}

}  // namespace sycl_ext
