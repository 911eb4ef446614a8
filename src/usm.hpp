// SPDX-License-Identifier: Apache-2.0
// Floor 5. Unified shared memory: who owns a block, of which kind it is, to which row it is bound.
//
// A `Memory` is a shared handle; the last one to go releases the block.  That may happen on any
// thread, without the GIL and after the interpreter is gone, so nothing here knows Python.  It may
// even be a thread of the runtime, in the middle of a command that the block's queue waits for, so
// nothing here waits: a block with work on it is freed when that work is done (deferred_free.hpp).
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "deferred_free.hpp"
#include "device_table.hpp"

namespace sycl_ext {

enum class UsmKind : unsigned char { device, shared, host, system };

const char* usm_kind_name(UsmKind kind) noexcept;  // "device", ...
UsmKind usm_kind_named(const char* name);          // Error(value) for another word

// What keeps a borrowed block alive, and how it is let go.  `release` must not throw.
using Owner = std::unique_ptr<void, void (*)(void*)>;

// Says, as long as it lives, that a block belongs to a private context.  Where every context of a
// driver knows every pointer, nothing else tells it from memory of the default context.
class PrivateBlock {
 public:
  PrivateBlock(const void* data, std::size_t nbytes, const Row* row);
  ~PrivateBlock();
  PrivateBlock(const PrivateBlock&) = delete;
  PrivateBlock& operator=(const PrivateBlock&) = delete;

 private:
  const void* const data_;
  const std::size_t nbytes_;
  const Row* const row_;  // nullptr: of no private context
};

// A block and its way back.  Whoever destroys it releases the block, on any thread; the runtime is
// asked without the GIL.
struct HeldBlock {
  // How a block of our own is given back.
  using Free = void (*)(const HeldBlock&) noexcept;

  std::byte* data;  // nullptr when nbytes is 0
  std::size_t nbytes;
  std::size_t capacity;  // of the block, which may come from a pool; not less than nbytes
  UsmKind kind;
  const Row* row;   // nullptr: plain host memory that belongs to no device
  Owner owner;      // of a borrowed block
  Free free_block;  // of a block of our own; nullptr: borrowed

  HeldBlock(std::byte* data, std::size_t nbytes, std::size_t capacity, UsmKind kind, const Row* row,
            Owner owner, Free free_block) noexcept;
  HeldBlock(HeldBlock&& other) noexcept;
  ~HeldBlock();
  HeldBlock& operator=(HeldBlock&&) = delete;

 private:
  bool is_held_ = true;  // false: moved from
};

class Allocation {
  const Queue own_queue_;  // empty: the row's serves
  HeldBlock block_;
  mutable void* representative_ = nullptr;

 public:
  std::byte* const data;  // nullptr when nbytes is 0
  const std::size_t nbytes;
  const std::size_t capacity;  // of the block, which may come from a pool; not less than nbytes
  const UsmKind kind;
  const Row* const row;  // nullptr: plain host memory that belongs to no device
  const PrivateBlock private_block{data, nbytes, row};
  // The queue that our own work on the block goes to.  Empty when there is no row.
  const Queue& queue;

  // An empty `own_queue` stands for the row's.
  Allocation(HeldBlock&& block, Queue own_queue);
  // Work that may still touch the block is not waited for: the block is freed after it.
  ~Allocation();
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  // Every queue whose work may touch the block: its own; that of its row, which is what the copy
  // engine and the exchange table tell others to use; and that of the root device, under whose id
  // memory of a sub-device is handed out.
  QueueSet queues() const noexcept;
  // False: no work is pending on any of them.  Does not ask the runtime.
  bool may_have_work() const noexcept;
  // True: nothing is pending.  False: something may be.  Asks the runtime, without the GIL.
  bool is_idle() const noexcept;

  // The owner of a borrowed block that `release` lets go, also when it is the block of another
  // handle that nobody else holds; nullptr: another kind of owner, or none.
  void* owner_released_by(void (*release)(void*)) const noexcept;
  // For Python's side: the instance that represents the memory to the collector; under the GIL.
  void*& representative() const noexcept { return representative_; }
  // Whether this is host memory of our own making (allocate_host).
  bool is_host_copy() const noexcept { return block_.free_block && !row; }
  // Whether this is a block as we allocated it, from its first byte on.
  bool is_ours() const noexcept { return block_.free_block; }
  bool is_freed_by(HeldBlock::Free function) const noexcept {
    return block_.free_block == function;
  }
};

using Memory = std::shared_ptr<const Allocation>;

// An owner that keeps another handle.
Owner keep_memory(Memory memory);

// Says that this thread is none of the SYCL runtime's: it frees idle blocks itself, instead of
// leaving them to the thread that frees what is pending.
void this_thread_may_ask_queues() noexcept;

// A new block, freed by us.  Error(memory) names size, kind and device; Error(buffer): the device
// has no USM of that kind.  An empty queue stands for the row's.
Memory allocate(const Row& row, UsmKind kind, std::size_t nbytes, Queue queue = {});

// A new block of 'device' USM for other processes: it comes from no pool, and goes back to none, as
// far as we can say so.  The Level Zero adapters hand out parts of slabs, and a handle between
// processes shows the whole slab; what is larger than they pool (4 MiB, unless UR_L0_USM_ALLOCATOR
// says more) is an allocation of the driver by itself, so the block is at least that large.
Memory allocate_dedicated(const Row& row, std::size_t nbytes, Queue queue = {});
bool is_dedicated(const Allocation& block) noexcept;

// Page-aligned host memory (kind `system`, no row): page alignment avoids the slow path of memcpy
// between a page-aligned USM block and a malloc block of another offset.
Memory allocate_host(std::size_t nbytes);

// Blocks that are kept for the next allocations.  The small ones are at most 2.75 MiB for each kind
// of USM of a row, and the large ones 8 MiB of host USM of a row; of host memory (kind `system`,
// row nullptr) 2.75 and 64 MiB.
struct CachedMemory {
  const Row* row;
  UsmKind kind;
  std::size_t nbytes;  // not 0
};
std::vector<CachedMemory> cached_memory();
// Gives them back to the runtime.
void release_cached_memory() noexcept;

// Blocks that are held now, our own and borrowed ones.
long live_allocations() noexcept;

// A block that somebody else owns.
Memory borrow(void* data, std::size_t nbytes, UsmKind kind, const Row* row, Queue queue,
              Owner owner);

// The kind of the USM that contains `pointer`, as the runtime sees it from the row's context.
// False: not USM of that context (on Level Zero: of no context of that driver).  On Level Zero the
// runtime answers for the driver's allocation, which may be a slab with many blocks: a pointer past
// the end of its block, or into a block that was freed, still has a kind.
bool classify(const void* pointer, const Row& row, UsmKind* kind) noexcept;

// How far a question goes that the runtime answers once for each context.
enum class Search { quick, thorough };

// Row of the block that contains the pointer, of all contexts in the table; nullptr: plain host
// memory, or USM of a context that nobody has told us of.
//
// On Level Zero every context of a driver knows every pointer.  So one context of the driver is
// asked, and the memory counts as that of the default context, unless it lies in a block of a
// private context that is alive here: one of our own, or one that came with its context.
//
// On OpenCL each context in use is asked, the one in which the pointer was last met first.  Memory
// that was nobody's and lies in none of our blocks: a quick search of more than eight private
// contexts asks the default contexts and new ones alone, so it may miss a block that somebody else
// made in a private context since.  What a miss would refuse takes a thorough search.
const Row* find_owner(const void* pointer, UsmKind* kind, Search search = Search::quick);

// Whose the pointer is, as part of a message: "it is 'device' USM of the private context of ...".
std::string describe_owner(const void* pointer);

// The row for the device that a USM pointer of the row's context was allocated on (on Level Zero
// that may be a tile of it).
const Row& allocating_row(const void* pointer, const Row& row);

// The row of a block in the context at an address: of the device that it was allocated on, which is
// the way to find it when a context has several devices.  Error(buffer): no USM of that context.
const Row& row_in_context(const void* pointer, const void* context);

// Whether the host may read and write memory of this kind on this row.
bool host_accessible(UsmKind kind, const Row* row) noexcept;

}  // namespace sycl_ext
