// SPDX-License-Identifier: Apache-2.0
#include "base/block_pool.hpp"

#include <algorithm>
#include <iterator>

namespace sycl_ext {

namespace {

constexpr std::size_t smallest = 64, kept_of_a_class = std::size_t{256} << 10;  // bytes

std::size_t class_of(std::size_t nbytes) noexcept {
  if (!BlockPool::is_small(nbytes)) return BlockPool::large;
  std::size_t index = 0;
  for (std::size_t size = smallest; size < nbytes; size *= 2) ++index;
  return index;
}

}  // namespace

std::size_t BlockPool::rounded(std::size_t nbytes) noexcept {
  return is_small(nbytes) ? smallest << class_of(nbytes) : nbytes;
}

KeptBlock BlockPool::take(std::size_t nbytes) noexcept {
  const std::size_t wanted = rounded(nbytes);
  const std::lock_guard<Ranked<SpinLock>> lock(lock_);
  Class& mine = classes_[class_of(nbytes)];
  const auto found = std::find_if(
      mine.blocks.rbegin(), mine.blocks.rend(),
      [wanted](const KeptBlock& one) { return one.nbytes >= wanted && one.nbytes / 2 <= wanted; });
  if (found == mine.blocks.rend()) return {nullptr, 0};
  const KeptBlock block = *found;
  mine.blocks.erase(std::next(found).base());
  mine.nbytes -= block.nbytes;
  return block;
}

KeptBlock BlockPool::add(KeptBlock* block) noexcept {
  const std::lock_guard<Ranked<SpinLock>> lock(lock_);
  const std::size_t index = class_of(block->nbytes);
  const std::size_t most = index == large ? most_of_large_ : kept_of_a_class;
  Class& mine = classes_[index];
  if (const KeptBlock added{std::exchange(block->data, nullptr), block->nbytes}; added.data) {
    const bool is_full = index != large && mine.nbytes + added.nbytes > most;
    if (is_full || added.nbytes > most / 2) return added;
    try {
      mine.blocks.push_back(added);
    } catch (...) {  // no memory to remember the block with
      return added;
    }
    mine.nbytes += added.nbytes;
  }
  if (mine.nbytes <= most) return {nullptr, 0};
  const KeptBlock oldest = mine.blocks.front();
  mine.blocks.erase(mine.blocks.begin());
  mine.nbytes -= oldest.nbytes;
  return oldest;
}

std::size_t BlockPool::kept() noexcept {
  const std::lock_guard<Ranked<SpinLock>> lock(lock_);
  std::size_t nbytes = 0;
  for (const Class& one : classes_) nbytes += one.nbytes;
  return nbytes;
}

}  // namespace sycl_ext
