// SPDX-License-Identifier: Apache-2.0
#include "block_pool.hpp"

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
  const std::lock_guard<std::mutex> lock(mutex_);
  if (blocks.empty()) return nullptr;
  void* block = blocks.back();
  blocks.pop_back();
  return block;
}

bool BlockPool::keep(void* block, std::size_t nbytes) noexcept {
  const int index = class_of(nbytes);
  auto& blocks = classes_[static_cast<std::size_t>(index)];
  const std::lock_guard<std::mutex> lock(mutex_);
  if ((blocks.size() + 1) * (smallest << index) > kept_bytes) return false;
  try {
    blocks.push_back(block);
  } catch (...) {
    return false;
  }
  return true;
}

}  // namespace sycl_ext
