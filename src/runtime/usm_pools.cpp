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
BlockPool& host_pool = *new BlockPool(std::size_t{64} << 20, std::size_t{32} << 20);

BlockPool& pool_of(const Entry* entry, UsmKind kind) {
  return entry ? entry->pools[static_cast<std::size_t>(kind)] : host_pool;
}

}  // namespace

void free_block(void* block, const Entry* entry) noexcept {
  if (!block || !entry) return std::free(block);
  if (is_forked_child() && !entry->is_cpu()) return;  // it is the parent's
  if (is_process_ending()) return;
  const WithoutGil released;
  const RuntimeCall call("freeing USM");  // on OpenCL it waits for kernels that may use the block
  try {
    sycl::free(block, entry->sycl->context);
  } catch (...) {  // a deleter never raises; the block is lost
  }
}

KeptBlock take_kept(const Entry* entry, UsmKind kind, std::size_t nbytes) noexcept {
  return pool_of(entry, kind).take(nbytes);
}

void keep(const KeptBlock& block, const Entry* entry, UsmKind kind) noexcept {
  if (entry && !entry->default_context) return free_block(block.data, entry);
  pool_of(entry, kind).keep(block, [entry](void* data) { free_block(data, entry); });
}

std::size_t kept_bytes(const Entry* entry, UsmKind kind) noexcept {
  return pool_of(entry, kind).kept();
}

void release_cached_memory() noexcept {
  // Two rounds: freed blocks return to the pools that are drained below, and an interrupted copy
  // holds blocks that are freed after it.
  for (int round = 0; round < 2; ++round) settle_deferred_frees(std::chrono::milliseconds(100));
  host_pool.drain(std::free);
  for (int id = 0; id < entries_so_far(); ++id) {
    const Entry& entry = *find_entry(id);
    for (BlockPool& pool : entry.pools) {
      pool.drain([&entry](void* block) { free_block(block, &entry); });
    }
  }
}

}  // namespace sycl_ext
