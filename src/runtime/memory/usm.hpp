// SPDX-License-Identifier: Apache-2.0
// Unified shared memory: blocks, where they come from, and their handles.
//
// A `Memory` is a shared handle.  The last handle ends the block (lifetime.hpp), on any thread and
// perhaps after the interpreter has ended, so this file does not use Python.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/host.hpp"
#include "runtime/devices/entry.hpp"
#include "runtime/memory/block_pool.hpp"
#include "runtime/memory/lifetime.hpp"
#include "runtime/sycl/queue.hpp"

namespace sycl_ext {

class Memory;

// A block, and where it goes.  The destructor returns it there, on any thread, and calls the
// runtime without the GIL.
class Allocation final : public Lifetime {
 public:
  const std::size_t capacity;  // of the block, which may come from a pool; at least nbytes

  // `owner`: keeps a borrowed block.  Without an owner, this package allocated the block.
  Allocation(KeptBlock block, std::size_t nbytes, UsmKind kind, const Entry* entry,
             std::optional<Owner>&& owner, Queue&& own_queue) noexcept;
  ~Allocation() override;

  // The host gets a view.  Other code may return that view as host memory (expose_block_at).
  void note_host_view() const;
  // The owner of a borrowed block, if `release` is its release function; nullptr: it is not, or
  // there is no owner.
  void* owner_released_by(void (*release)(void*)) const noexcept;
  // The block that is kept by the owner of this block (keep_memory); nullptr: the owner keeps no
  // block, or there is no owner.
  const Allocation* kept_block() const noexcept;
  // The instance that stands for the block in Python's garbage collector
  // (python/tensor_object.cpp); the core does not read it.
  mutable void* representative = nullptr;
  // Whether this is host memory from allocate_host().
  bool is_host_copy() const noexcept { return is_ours() && !entry; }
  // Whether the block belongs to a private context.  Where every context of a driver knows every
  // pointer, only this answer distinguishes the block from memory of the default context.
  bool is_private() const noexcept { return entry && !entry->default_context && nbytes > 0; }

 private:
  friend class Memory;
  // Called with the last handle.  From now on the block is not found by an address.
  static void drop(const Allocation* block) noexcept;
  bool is_counted() const noexcept { return is_ours() && capacity > 0; }

  std::optional<Owner> owner_;  // of a borrowed block
};

class Memory {
 public:
  explicit Memory(const Allocation* block) noexcept : block_(block) {}  // its first handle
  Memory(const Memory& other) noexcept : block_(other.block_) {
    if (block_) block_->use.add_handle();
  }
  Memory(Memory&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Memory& operator=(Memory other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Memory() { reset(); }
  void reset() noexcept {
    const Allocation* const block = std::exchange(block_, nullptr);
    if (block && block->use.drop_handle()) Allocation::drop(block);
  }
  explicit operator bool() const noexcept { return block_ != nullptr; }
  const Allocation& operator*() const noexcept { return *block_; }
  const Allocation* operator->() const noexcept { return block_; }

 private:
  const Allocation* block_;
};

// A handle that outlives the call that made it, although no tensor shows it to the collector: the
// handle of an export, of a copy in the background, of a registration, or of another block.
//
// The number of keepers may rise only with the GIL. Python's garbage collector may finalize the
// owner of borrowed memory only while there is no keeper.  It reads the number twice in one pass,
// and an object that it found to be garbage the first time must not come into use before the second
// time.  The number may fall on any thread: the collector then finds less garbage than there is,
// until its next pass.  A plain `Memory` is held by an instance, or by a call that has an instance
// as its argument; the collector knows both.
class MemoryKeeper {
 public:
  explicit MemoryKeeper(Memory memory) noexcept : memory_(std::move(memory)) {
    if (memory_->is_ours()) return;  // no owner to finalize
    require_gil("a handle that lasts is made");
    memory_->use.add_keeper();
  }
  MemoryKeeper(MemoryKeeper&&) noexcept = default;
  MemoryKeeper& operator=(MemoryKeeper&&) = delete;
  ~MemoryKeeper() {
    if (memory_ && !memory_->is_ours()) memory_->use.drop_keeper();
  }

  const Memory& memory() const noexcept { return memory_; }

 private:
  Memory memory_;
};

// A handle of a consumer: other code that got the block.
class InUse {
 public:
  // `submits`: false for a consumer on the host, which cannot submit work on the memory.
  InUse(const Memory& memory, bool submits) noexcept : keeper_(memory), submits_(submits) {
    if (submits_) memory->use.lend();
  }
  ~InUse() {
    if (submits_) memory()->use.give_back();
  }
  InUse(const InUse&) = delete;

  const Memory& memory() const noexcept { return keeper_.memory(); }
  // Ends the use of the block by a consumer that has certainly submitted no work.
  void give_back_unused() noexcept {
    if (!submits_) return;
    submits_ = false;
    memory()->use.give_back_unused();  // a queue that was named stays until it is seen idle
  }

 private:
  MemoryKeeper keeper_;
  bool submits_;
};

// Called when host memory at this address turns out to be USM. Returns the entry if the memory is a
// block of this package that the host had a view of; other code can submit work on that block from
// now on.  nullptr: it is not such a block.
const Entry* expose_block_at(const void* data) noexcept;

// The entry of the live block of a private context that contains the address; nullptr: there is no
// such block.
const Entry* private_entry_at(const void* address) noexcept;

// An owner that keeps another handle.
Owner keep_memory(Memory memory);

// A new block.  Error(memory) names size, kind and device.  Error(buffer): the device has no USM of
// that kind.  With an empty queue, the queue of the entry is used.
//
// `dedicated`: the block is for other processes, and comes from no pool, neither of this package
// nor of the runtime.  An inter-process handle exposes the whole allocation of the driver, and the
// Level Zero adapters put small blocks into slabs with other blocks.  They allocate blocks above
// the limit of their pools (4 MiB, unless UR_L0_USM_ALLOCATOR says more) separately, so a dedicated
// block is larger than that limit.
Memory allocate(const Entry& entry, UsmKind kind, std::size_t nbytes, Queue queue = {},
                bool dedicated = false);

// Page-aligned host memory (kind `system`, no entry). A page-aligned USM block is copied slowly to
// a malloc block with another offset within its page, so this memory is page-aligned too.  `queue`:
// for work on it.
Memory allocate_host(std::size_t nbytes, Queue queue = {});

// Live blocks, allocated and borrowed.
long live_allocations();
// Gives all blocks that are kept for later allocations back to the runtime.
void release_cached_memory() noexcept;

// A block that `owner` owns.
Memory borrow(void* data, std::size_t nbytes, UsmKind kind, const Entry* entry, Queue queue,
              Owner owner);

}  // namespace sycl_ext
