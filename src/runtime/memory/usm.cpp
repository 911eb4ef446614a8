// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory/usm.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <set>
#include <utility>

#include "base/fork.hpp"
#include "base/host.hpp"
#include "base/lock.hpp"
#include "runtime/devices/device_table.hpp"
#include "runtime/devices/entry_handles.hpp"
#include "runtime/devices/level_zero.hpp"
#include "runtime/memory/memory_limit.hpp"
#include "runtime/memory/pools.hpp"
#include "runtime/sycl/commands.hpp"
#include "runtime/sycl/handles.hpp"
#include "runtime/sycl/runtime_call.hpp"
#include "runtime/sycl/usm_aspects.hpp"

namespace sycl_ext {

namespace {

std::atomic<long> uncounted_blocks{0};  // borrowed, or of no bytes

// Gives a block back to the runtime.  Nothing is done after a fork, because the block is the
// parent's, and at the end of the process, when the runtime may be gone.
void free_block(void* block, const Entry* entry) noexcept {
  if (!block || !entry) {
    std::free(block);
    return;
  }
  if (is_process_ending() || (is_forked_child() && !entry->is_cpu())) return;
  const WithoutGil released;
  const RuntimeCall call("freeing USM");  // on OpenCL it waits for kernels that may use the block
  try {
    sycl::free(block, entry->sycl->context);
  } catch (...) {  // a deleter never raises; the block is lost
  }
}

// Keeps a block for later allocations, or releases it.  Not kept are blocks of a private context,
// blocks that are too large for their pool, and blocks whose consumer works on a stream that cannot
// be asked.  Freeing the last of these is safe: the drivers of CUDA and HIP wait in a free until
// the device is idle.
void keep_or_free(const Allocation& block) noexcept {
  const auto free = [entry = block.entry](void* data) { free_block(data, entry); };
  pool_of(block.entry, block.kind)
      .keep({block.data, block.capacity}, free,
            /*may_stay=*/!block.is_private() && !block.use.is_untraced());
}

// Page-aligned memory of at least `nbytes` bytes, from the pool or new.
KeptBlock take_host_block(std::size_t nbytes) {
  constexpr std::size_t page = 4096, huge_page = std::size_t{2} << 20;
  return host_pool().take(nbytes, [nbytes] {
    void* block = nullptr;
    const std::size_t capacity = BlockPool::rounded(nbytes);
    const bool large = nbytes >= 2 * huge_page;
    if (posix_memalign(&block, large ? huge_page : page, capacity) != 0) {
      fail(Error::Kind::memory, "cannot allocate ", nbytes, " bytes of host memory");
    }
    // Touching fresh memory page by page costs as much as the copy into it.
    if (large) madvise(block, nbytes, MADV_HUGEPAGE);
    return KeptBlock{block, capacity};
  });
}

template <class... Parts>
[[noreturn]] void fail_allocation(std::size_t nbytes, std::size_t block, UsmKind kind,
                                  const Entry& entry, const Parts&... reason) {
  const std::string in_block =
      block == nbytes ? "" : " (in a block of " + std::to_string(block) + " bytes)";
  fail(Error::Kind::memory, "cannot allocate ", nbytes, " bytes of '", usm_kind_name(kind), "' USM",
       in_block, " on device ", entry.id, " ('", entry.name, "'): ", reason...,
       "; free other tensors, or choose a smaller size or another usm_type");
}

[[noreturn]] void fail_lost(const Entry& entry, const char* reason) {
  throw DeviceLost("device " + std::to_string(entry.id) + " ('" + entry.name + "') is lost: " +
                   reason + "; start a new process, and check the system log for the cause");
}

sycl::backend backend_of(const Entry& entry) { return entry.sycl->device.get_backend(); }

// Raises an error if the device is lost; the runtime then returns no memory, and rarely says why.
// The driver of Level Zero reports the loss; for other drivers, a command on the device fails.
// (A command does not help on Level Zero: the v1 adapter submits no barrier on a queue without
// commands.)
void require_not_lost(const Entry& entry) {
  const WithoutGil released;
  if (is_lost(entry)) fail_lost(entry, "the driver reports it");
  try {
    const RuntimeCall call("querying whether a device is lost");
    sycl::queue(entry.commands().state().queue).ext_oneapi_submit_barrier();
  } catch (const sycl::exception& error) {
    if (is_device_lost(error, backend_of(entry))) fail_lost(entry, error.what());
  }
}

// New USM of the runtime; nullptr: there is none.  `reason`: what the runtime says about it, if it
// says anything.
void* fresh_usm(std::size_t nbytes, UsmKind wanted, const Entry& entry, std::string& reason) {
  const WithoutGil released;
  // Blocks whose work is over are still on their way back.  A loop that exports and drops must not
  // fill the memory with them, so it waits, as if each of them had the size of this block.
  constexpr std::size_t most_bytes_on_their_way = std::size_t{64} << 20;
  if (nbytes > most_bytes_on_their_way / std::max<std::size_t>(deferred_frees(), 1)) {
    flush_deferred_frees(std::chrono::milliseconds(2));
  }
  const RuntimeCall call("allocating USM");
  try {
    return sycl::malloc(nbytes, entry.sycl->device, entry.sycl->context, alloc_of(wanted));
  } catch (const sycl::exception& error) {
    reason = error.what();
    return nullptr;
  }
}

// The most bytes of one allocation.
std::uint64_t largest_block(const Entry& entry) {
  const WithoutGil released;
  return locked_call("querying the largest allocation of a device", [&entry] {
    return entry.sycl->device.get_info<sycl::info::device::max_mem_alloc_size>();
  });
}

// The blocks that are looked up by an address: those of private contexts, and those that the host
// had a view of.  Blocks may overlap, and may be listed several times.  A lookup takes no lock
// while the list is empty.
class BlocksByAddress {
 public:
  void add(const Allocation* block) {
    const std::lock_guard<Mutex> lock(locks.extents);
    blocks_.emplace(block->data, block);
    longest_ = std::max(longest_, block->nbytes);
    count_.store(blocks_.size(), std::memory_order_release);
  }

  void remove(const Allocation* block) noexcept {
    const std::lock_guard<Mutex> lock(locks.extents);
    blocks_.erase({block->data, block});
    if (blocks_.empty()) longest_ = 0;
    count_.store(blocks_.size(), std::memory_order_release);
  }

  // The entry of a block that contains the address and for which `is_wanted` returns true; of
  // several such blocks, the one that begins last.  nullptr: there is no such block.  `act` is
  // called with the block, which cannot be removed meanwhile.
  template <class IsWanted, class Act>
  const Entry* entry_at(const void* address, const IsWanted& is_wanted,
                        const Act& act) const noexcept {
    if (!address || count_.load(std::memory_order_acquire) == 0) return nullptr;
    const auto* const wanted = static_cast<const std::byte*>(address);
    const std::lock_guard<Mutex> lock(locks.extents);
    for (auto it = blocks_.lower_bound({wanted + 1, nullptr}); it != blocks_.begin();) {
      --it;
      const auto offset = static_cast<std::size_t>(wanted - it->first);
      const Allocation& block = *it->second;
      if (offset < block.nbytes && is_wanted(block)) {
        act(block);
        return block.entry;
      }
      if (offset >= longest_) break;
    }
    return nullptr;
  }

 private:
  std::set<std::pair<const std::byte*, const Allocation*>> blocks_;
  std::size_t longest_ = 0;
  std::atomic<std::size_t> count_{0};
};
BlocksByAddress& blocks_by_address = *new BlocksByAddress;  // never destroyed

void release_keeper(void* keeper) { delete static_cast<MemoryKeeper*>(keeper); }

BlockOwner kind_of(const std::optional<Owner>& owner) noexcept {
  if (!owner) return BlockOwner::package;
  return owner->get_deleter() == release_keeper ? BlockOwner::block : BlockOwner::other_code;
}

// A request for a block of `size` bytes, which can be tried several times.
struct UsmRequest {
  const std::size_t size;
  const UsmKind kind;
  const Entry& entry;
  KeptBlock block{};      // no data: there was no memory
  PassedLimit limited{};  // the limit that the block would have passed
  std::string reason{};   // the runtime's, if it gave one

  bool try_take() {
    reason.clear();
    limited = passed_limit(entry, kind, size);
    if (limited.entry) return false;
    block = pool_of(&entry, kind).take(size, [this] {
      return KeptBlock{fresh_usm(size, kind, entry, reason), size};
    });
    return block.data != nullptr;
  }
};

// A block of `size` bytes for an allocation of `nbytes`.
KeptBlock take_usm(std::size_t size, std::size_t nbytes, UsmKind kind, const Entry& entry) {
  UsmRequest request{size, kind, entry};
  if (request.try_take()) return request.block;
  const auto try_again = [&request] {
    if (!request.limited.entry) release_cached_memory();
    return request.try_take();
  };
  if (retry_under_pressure(entry, size, try_again)) return request.block;
  const PassedLimit& limited = request.limited;
  if (!limited.entry) {
    require_not_lost(entry);
    const std::uint64_t largest = largest_block(entry);
    if (size > largest) {
      fail(Error::Kind::memory, "cannot allocate ", nbytes, " bytes of '", usm_kind_name(kind),
           "' USM on device ", entry.id, " ('", entry.name,
           "'): the largest allocation of the device "
           "is ",
           largest, " bytes; split the array into several");
    }
    const std::string& reason = request.reason;
    fail_allocation(nbytes, size, kind, entry,
                    reason.empty() ? "the runtime is out of memory" : reason);
  }
  fail_allocation(nbytes, size, kind, entry, "sycl_ext.memory.limit allows ", limited.bytes,
                  " bytes on device ", limited.entry->id, ", and ", limited.used, " are in use");
}

// Makes a block of the bytes that `take` returns.  `take` is called last, when nothing else can
// fail, and not at all for a block without bytes.
template <class Take>
Memory own(const Take& take, std::size_t nbytes, UsmKind kind, const Entry* entry,
           std::optional<Owner> owner, Queue queue) {
  if (entry && queue) {  // the queue of the entry is not stored as the block's own
    // The queue of a private context is fetched only on request.
    const Queue* const shared = entry->default_context ? &entry->queue() : entry->fetched_queue();
    if (shared && queue == *shared) queue = Queue();
  }
  Memory block(new Allocation(nbytes ? take() : KeptBlock{}, nbytes, kind, entry, std::move(owner),
                              std::move(queue)));
  if (block->is_private()) blocks_by_address.add(&*block);
  if (!block->is_ours() && kind != UsmKind::system) block->fetch_queues();
  if (block->is_ours() && entry) entry->forget_copies_to(block->data, nbytes);
  return block;
}

}  // namespace

Allocation::Allocation(KeptBlock block, std::size_t nbytes, UsmKind kind, const Entry* entry,
                       std::optional<Owner>&& owner, Queue&& own_queue) noexcept
    : Lifetime(block.data, nbytes, kind, entry, kind_of(owner), std::move(own_queue)),
      capacity(block.nbytes),
      owner_(std::move(owner)) {
  if (!is_counted()) uncounted_blocks.fetch_add(1, std::memory_order_relaxed);
}

void Allocation::drop(const Allocation* block) noexcept {
  if (block->is_private() || block->use.has_host_view()) blocks_by_address.remove(block);
  Lifetime::end(std::unique_ptr<Lifetime>(const_cast<Allocation*>(block)));
}

Allocation::~Allocation() {
  if (is_ours()) {
    keep_or_free(*this);
  } else {
    owner_->reset();
  }
  if (!is_counted()) uncounted_blocks.fetch_sub(1, std::memory_order_relaxed);
}

Owner keep_memory(Memory memory) { return {new MemoryKeeper(std::move(memory)), release_keeper}; }

void* Allocation::owner_released_by(void (*release)(void*)) const noexcept {
  return owner_ && owner_->get_deleter() == release ? owner_->get() : nullptr;
}

const Allocation* Allocation::kept_block() const noexcept {
  void* const keeper = owner_released_by(release_keeper);
  return keeper ? &*static_cast<const MemoryKeeper*>(keeper)->memory() : nullptr;
}

void Allocation::note_host_view() const {
  if (!is_ours() || !entry) return;
  const bool is_first = use.note_host_view();
  if (is_first && !is_private()) blocks_by_address.add(this);
}

const Entry* expose_block_at(const void* data) noexcept {
  return blocks_by_address.entry_at(
      data, [](const Allocation& block) { return block.use.has_host_view(); },
      [](const Allocation& block) { block.use.expose(); });
}

const Entry* private_entry_at(const void* address) noexcept {
  return blocks_by_address.entry_at(
      address, [](const Allocation& block) { return block.is_private(); },
      [](const Allocation&) {});
}

void release_cached_memory() noexcept {
  const WithoutGil released;
  // Two rounds, because an interrupted copy holds blocks: the first round frees the copy, the
  // second one the blocks that it held.  Freed blocks go to the pools, which are drained below.
  for (int round = 0; round < 2; ++round) flush_deferred_frees(std::chrono::milliseconds(100));
  host_pool().drain(std::free);
  for (int id = 0; id < entries_so_far(); ++id) {
    const Entry& entry = *find_entry(id);
    EntryPools* const pools = made_pools_of(entry);
    if (!pools) continue;
    for (BlockPool& pool : pools->of_kind) {
      pool.drain([&entry](void* block) { free_block(block, &entry); });
    }
  }
}

Memory allocate(const Entry& entry, UsmKind kind, std::size_t nbytes, Queue queue, bool dedicated) {
  // The smallest multiple of Level Zero's page size that is larger than the blocks which its
  // adapters pool.
  constexpr std::size_t page = std::size_t{64} << 10, least = (std::size_t{4} << 20) + page;
  if (!has_usm(entry, kind)) {
    fail(Error::Kind::buffer, "device ", entry.id, " ('", entry.name, "', ", entry.backend,
         ") does not support '", usm_kind_name(kind),
         "' USM; choose another device (`python -m sycl_ext devices` lists them, and `python -m "
         "sycl_ext doctor` names a package that provides one)");
  }
  require_not_forked([&entry] { return entry.is_cpu(); });
  const auto take = [&] {
    // A block as large as a dedicated one is never kept in a pool.
    return take_usm(dedicated ? std::max(nbytes, least) : BlockPool::rounded(nbytes), nbytes, kind,
                    entry);
  };
  return own(take, nbytes, kind, &entry, std::nullopt, std::move(queue));
}

Memory allocate_host(std::size_t nbytes, Queue queue) {
  const auto take = [nbytes] { return take_host_block(nbytes); };
  return own(take, nbytes, UsmKind::system, nullptr, std::nullopt, std::move(queue));
}

long live_allocations() {
  long count = uncounted_blocks + host_pool().use().live;
  for (int id = 0; id < entries_so_far(); ++id) {
    for (const UsmKind kind : allocated_kinds) count += memory_use(find_entry(id), kind).live;
  }
  return count;
}

Memory borrow(void* data, std::size_t nbytes, UsmKind kind, const Entry* entry, Queue queue,
              Owner owner) {
  const auto take = [&] { return KeptBlock{data, nbytes}; };
  return own(take, nbytes, kind, entry, std::move(owner), std::move(queue));
}

}  // namespace sycl_ext
