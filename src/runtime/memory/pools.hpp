// SPDX-License-Identifier: Apache-2.0
// The pools of every entry, and the limit for its memory.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/devices/entry.hpp"
#include "runtime/memory/block_pool.hpp"
#include "runtime/sycl/usm_kind.hpp"

namespace sycl_ext {

struct EntryPools {
  // Of 'device', 'shared' and 'host' USM.  More host USM is kept, for copies through the host: its
  // allocation costs more than the copy.
  std::array<BlockPool, allocated_kinds.size()> of_kind{
      BlockPool(std::size_t{2} << 20, BlockPool::largest_small),
      BlockPool(std::size_t{2} << 20, BlockPool::largest_small),
      BlockPool(std::size_t{8} << 20, std::size_t{4} << 20)};
  // For the sum of 'device' and 'shared' USM, in bytes; < 0: there is none.
  std::atomic<std::int64_t> limit{-1};
};

// Made when first needed, and never destroyed.
EntryPools& pools_of(const Entry& entry);
// The same; nullptr: nothing was allocated on the entry so far, and it has no limit.
EntryPools* made_pools_of(const Entry& entry) noexcept;

// Of page-aligned host memory.
BlockPool& host_pool() noexcept;

// Of the allocations of an entry; entry nullptr: of host memory.
BlockPool& pool_of(const Entry* entry, UsmKind kind);

// The numbers of that pool, also if it was not made.
MemoryUse memory_use(const Entry* entry, UsmKind kind) noexcept;

}  // namespace sycl_ext
