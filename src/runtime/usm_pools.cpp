// SPDX-License-Identifier: Apache-2.0
#include "runtime/usm_pools.hpp"

#include <chrono>
#include <cstdlib>

#include "base/fork.hpp"
#include "base/interpreter.hpp"
#include "runtime/deferred_free.hpp"
#include "runtime/runtime_call.hpp"
#include "runtime/sycl_handles.hpp"

namespace sycl_ext {

namespace {

// Never destroyed: a block may come back after the static destructors.
BlockPool& host_pool = *new BlockPool;
LargeBlockPool& large_host_pool = *new LargeBlockPool(std::size_t{32} << 20, std::size_t{64} << 20);

BlockPool& pool_of(const Entry& entry, UsmKind kind) {
  return entry.pools().small[static_cast<std::size_t>(kind)];
}

// Keeps a block in one of two pools, and frees what they do not keep.
template <class Release>
void give_back(const KeptBlock& block, BlockPool& small, LargeBlockPool* large,
               Release release) noexcept {
  if (!block.data) return;
  if (BlockPool::serves(block.nbytes)) {
    if (!small.keep(block.data, block.nbytes)) release(block.data);
  } else if (large) {
    try {
      for (const auto& gone : large->keep(block)) release(gone.data);
    } catch (...) {  // no memory to remember the block with
      release(block.data);
    }
  } else {
    release(block.data);
  }
}

// Where an entry keeps its large blocks of a kind; nullptr: nowhere.
LargeBlockPool* large_pool_of(const Entry& entry, UsmKind kind) {
  return kind == UsmKind::host ? &entry.pools().staging : nullptr;
}

// Gives back what an entry keeps.
void drain_pools(const Entry& entry) noexcept {
  EntryPools* const pools = entry.made_pools();
  if (!pools) return;
  for (BlockPool& pool : pools->small) {
    pool.drain([&entry](void* block) { free_usm(block, entry); });
  }
  for (const auto& block : pools->staging.drain()) free_usm(block.data, entry);
}

// A kept block for at least `nbytes`, with its true size; {nullptr, 0}: none.
KeptBlock take_kept(std::size_t nbytes, BlockPool& small, LargeBlockPool* large) noexcept {
  if (!BlockPool::serves(nbytes)) return large ? large->take(nbytes) : KeptBlock{nullptr, 0};
  void* const data = small.take(nbytes);
  return {data, data ? BlockPool::rounded(nbytes) : 0};
}

}  // namespace

void free_usm(void* block, const Entry& entry) noexcept {
  if (is_forked_child() && entry.device_type != "cpu") return;  // it is the parent's
  if (is_process_ending()) return;
  const WithoutGil released;
  const RuntimeCall call("freeing USM");  // on OpenCL it waits for kernels that may use the block
  try {
    sycl::free(block, entry.sycl->context);
  } catch (...) {  // a deleter never raises; the block is lost
  }
}

KeptBlock take_kept_usm(const Entry& entry, UsmKind kind, std::size_t nbytes) noexcept {
  return take_kept(nbytes, pool_of(entry, kind), large_pool_of(entry, kind));
}

KeptBlock take_kept_host(std::size_t nbytes) noexcept {
  return take_kept(nbytes, host_pool, &large_host_pool);
}

void keep_usm(const KeptBlock& block, const Entry& entry, UsmKind kind) noexcept {
  if (!block.data) return;
  give_back(block, pool_of(entry, kind), large_pool_of(entry, kind),
            [&entry](void* data) { free_usm(data, entry); });
}

void keep_host(const KeptBlock& block) noexcept {
  give_back(block, host_pool, &large_host_pool, [](void* data) { std::free(data); });
}

namespace {

struct DroppedEntry final : Deferred {
  explicit DroppedEntry(const Entry& entry) : entry(entry) {}
  ~DroppedEntry() override { drain_pools(entry); }
  QueueSet awaited_queues() const noexcept override { return {}; }
  const Entry& entry;
};

}  // namespace

void drain_pools_later(const std::vector<const ContextEntry*>& entries) {
  for (const ContextEntry* one : entries) {
    const Entry* const entry = static_cast<const Entry*>(one);
    if (!entry->made_pools()) continue;
    free_after_work(std::make_unique<DroppedEntry>(*entry));
  }
}

std::vector<CachedMemory> cached_memory() {
  std::vector<CachedMemory> found;
  const auto add = [&found](const Entry* entry, UsmKind kind, std::size_t nbytes) {
    if (nbytes > 0) found.push_back({entry, kind, nbytes});
  };
  add(nullptr, UsmKind::system, host_pool.kept() + large_host_pool.kept());
  for (int id = 0; id < entries_so_far(); ++id) {
    const Entry& entry = *find_entry(id);
    if (!entry.made_pools()) continue;
    for (const UsmKind kind : {UsmKind::device, UsmKind::shared, UsmKind::host}) {
      LargeBlockPool* const large = large_pool_of(entry, kind);
      add(&entry, kind, pool_of(entry, kind).kept() + (large ? large->kept() : 0));
    }
  }
  return found;
}

void release_cached_memory() noexcept {
  // What is freed comes back to where we take from; an interrupted copy holds blocks that follow
  // it.
  for (int round = 0; round < 2; ++round) settle_deferred_frees(std::chrono::milliseconds(100));
  host_pool.drain([](void* block) { std::free(block); });
  for (const auto& block : large_host_pool.drain()) std::free(block.data);
  for (int id = 0; id < entries_so_far(); ++id) {
    drain_pools(*find_entry(id));
  }
}

}  // namespace sycl_ext
