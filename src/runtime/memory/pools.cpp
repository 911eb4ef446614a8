// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory/pools.hpp"

#include <cassert>

#include "base/first_made.hpp"
#include "runtime/devices/device_table.hpp"

namespace sycl_ext {

namespace {

// By the id of the entry.  The array is large, but the system gives memory only to the pages in
// use.
std::array<FirstMade<EntryPools>, most_entries> all_pools;

FirstMade<EntryPools>& place_of(const Entry& entry) noexcept {
  return all_pools[static_cast<std::size_t>(entry.id)];
}

BlockPool& pool_in(EntryPools& pools, UsmKind kind) noexcept {
  assert(kind != UsmKind::system);  // a device reads such memory, and never allocates it
  return pools.of_kind[static_cast<std::size_t>(kind)];
}

// Never destroyed: a block may be returned after the static destructors.
BlockPool& pool_of_host = *new BlockPool(std::size_t{64} << 20, std::size_t{32} << 20);

}  // namespace

EntryPools& pools_of(const Entry& entry) {
  return place_of(entry).get([] { return EntryPools(); });
}

EntryPools* made_pools_of(const Entry& entry) noexcept { return place_of(entry).made(); }

BlockPool& host_pool() noexcept { return pool_of_host; }

BlockPool& pool_of(const Entry* entry, UsmKind kind) {
  return entry ? pool_in(pools_of(*entry), kind) : pool_of_host;
}

MemoryUse memory_use(const Entry* entry, UsmKind kind) noexcept {
  if (!entry) return pool_of_host.use();
  EntryPools* const made = made_pools_of(*entry);
  return made ? pool_in(*made, kind).use() : MemoryUse{};
}

}  // namespace sycl_ext
