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

// The bytes of 'host' USM that the pool of an entry keeps, for copies through the host, because
// allocating it costs more than such a copy.
inline constexpr std::size_t host_usm_kept = std::size_t{8} << 20;

struct EntryPools {
  // Pools of 'device', 'shared' and 'host' USM.
  std::array<BlockPool, allocated_kinds.size()> of_kind{
      BlockPool(std::size_t{2} << 20, BlockPool::largest_small),
      BlockPool(std::size_t{2} << 20, BlockPool::largest_small),
      BlockPool(host_usm_kept, host_usm_kept / 2)};
  // Limit for the sum of 'device' and 'shared' USM, in bytes; less than 0: there is no limit.
  std::atomic<std::int64_t> limit{-1};
};

// The pools of an entry, made when first needed and never destroyed.
EntryPools& pools_of(const Entry& entry);
// The pools of an entry; nullptr: nothing was allocated on the entry so far, and it has no limit.
EntryPools* made_pools_of(const Entry& entry) noexcept;

// The pool of page-aligned host memory.
BlockPool& host_pool() noexcept;

// The pool for allocations on an entry; an entry of nullptr stands for host memory.
BlockPool& pool_of(const Entry* entry, UsmKind kind);

// The numbers of that pool; zeros if it was not made.
MemoryUse memory_use(const Entry* entry, UsmKind kind) noexcept;

}  // namespace sycl_ext
