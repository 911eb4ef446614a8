// SPDX-License-Identifier: Apache-2.0
// Unified shared memory: the owner, kind and entry of a block.
//
// A `Memory` is a shared handle; the last one releases the block.  That may happen on any thread,
// without the GIL and after the interpreter has ended, so this file does not use Python.  It may
// also be a thread of the runtime, during a command that the queue of the block waits for, so this
// file does not wait: a block with pending work is freed when that work is done
// (deferred_free.hpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/interpreter.hpp"
#include "runtime/devices/entry.hpp"
#include "runtime/memory/block_pool.hpp"
#include "runtime/memory/block_use.hpp"
#include "runtime/memory/deferred_free.hpp"
#include "runtime/memory/named_queues.hpp"
#include "runtime/sycl/queue.hpp"

namespace sycl_ext {

class Memory;

// A block and its release, of a fixed kind and entry.  The destructor releases the block, on any
// thread; the runtime is called without the GIL.
class Allocation final : public Deferred {
 public:
  std::byte* const data;  // nullptr when nbytes is 0
  const std::size_t nbytes;
  const std::size_t capacity;  // of the block, which may come from a pool; at least nbytes
  const UsmKind kind;
  const Entry* const entry;  // nullptr: plain host memory without a device
  const Queue own_queue;     // empty: the queue of the entry is used

  // `owner`: of a borrowed block, else this package allocated it.
  Allocation(KeptBlock block, std::size_t nbytes, UsmKind kind, const Entry* entry,
             std::optional<Owner>&& owner, Queue&& own_queue) noexcept;
  // The last handle leaves this to the thread that frees, if work on the block may be pending.
  ~Allocation() override;

  // The queue that other code gets for work on the block: its own, or that of the entry.  Empty if
  // there is no entry.
  const Queue& queue() const { return own_queue || !entry ? own_queue : entry->queue(); }

  // From now on other code can submit work on the block, because it got the address or the queue.
  // Fetches the queues for such work.
  void expose() const;
  // The host gets a view, which may return as host memory of other code (expose_block_at).
  void note_host_view() const;
  // Fetches the queues of other code's work, so that they can be asked without the GIL.
  void fetch_queues() const;

  // The queues on which work on the block may be pending.  Does not ask the runtime.
  //
  // These are: the entry's queue for commands of this package; and if other code can submit work on
  // the block, its own queue, that of its entry, and that of the root device, whose id memory of a
  // sub-device is exported with.  Other code can do so while it holds a block of this package
  // (InUse), until the queues were seen idle after the last such holder; and always for memory or a
  // queue that it provided.  (BlockUse has the states.)
  QueueSet busy_queues() const noexcept {
    return busy_queues(may_have_work_of_others() || (!is_ours() && kind != UsmKind::system));
  }
  // The same, with or without those for the work of others.
  QueueSet busy_queues(bool of_others) const noexcept;
  // Whether there may be any; in a forked child, also a copy of its parent.
  bool may_have_work() const noexcept {
    return !busy_queues().empty() || (is_forked_child() && entry);
  }
  // Waits for all of it, without the GIL.  `told`: an error of a copy counts as reported.
  void wait_for_work(bool told = true) const {
    if (may_have_work()) wait_for_queues(told);
  }
  // Whether none is pending, as far as this process can know.  Never waits: false if only a wait
  // could tell.  Releases the GIL.
  bool is_idle() const;

  // The owner of a borrowed block that `release` releases; nullptr: another kind of owner, or none.
  void* owner_released_by(void (*release)(void*)) const noexcept;
  // The block that the owner of this one keeps (keep_memory); nullptr: another kind of owner, or
  // none.
  const Allocation* kept_block() const noexcept;
  // A consumer that has the block (BlockUse::lend) named the queue of its work: it is one of the
  // block's, and is asked while there may be work of others.
  void name_queue(const Queue& queue) const;
  // What comes later on the queue comes after all work of those that had given the block back
  // before (before_question).  The queue stands for those that they named, so that these are not
  // kept for as long as the block lives.
  void replace_named_queues(const Queue& queue, std::uint64_t before) const;
  // The owner of a borrowed block waits for work on it, unless other code got the block here.
  QueueSet awaited_queues() const noexcept override {
    return busy_queues(may_have_work_of_others());
  }
  mutable BlockUse use;
  // A place for src/python, which the core carries along and does not read.
  mutable void* python_side = nullptr;
  // Whether this is host memory from allocate_host().
  bool is_host_copy() const noexcept { return is_ours() && !entry; }
  // Whether this package allocated the block.
  bool is_ours() const noexcept { return !owner_; }
  // Whether it belongs to a private context.  If every context of a driver knows every pointer,
  // only this distinguishes it from memory of the default context.
  bool is_private() const noexcept { return entry && !entry->default_context && nbytes > 0; }

 private:
  friend class Memory;
  // For the last handle: frees the block, or leaves that to the thread that frees.
  static void free_or_defer(const Allocation* block) noexcept;
  bool is_counted() const noexcept { return is_ours() && capacity > 0; }
  // Other code got the block, or named a queue for work on it, or the queue came from other code.
  bool may_have_work_of_others() const noexcept {
    return own_queue || !named_queues_.empty() || use.may_have_work_of_others();
  }
  // Whether the queue is asked without being named.
  bool always_asks(const Queue& queue) const noexcept;
  // Both record that the queues were idle, for all who had given the block back before.
  void wait_for_queues(bool told) const;
  bool are_queues_idle() const;
  void note_idle(std::uint64_t before) const noexcept;

  std::optional<Owner> owner_;  // of a borrowed block
  mutable NamedQueues named_queues_;
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
    if (block && block->use.drop_handle()) Allocation::free_or_defer(block);
  }
  explicit operator bool() const noexcept { return block_ != nullptr; }
  const Allocation& operator*() const noexcept { return *block_; }
  const Allocation* operator->() const noexcept { return block_; }

 private:
  const Allocation* block_;
};

// A handle that lasts by itself, when the call that made it is over and no tensor shows it: that of
// an export, of a copy that goes on, of a registration, of another block.
//
// Python's garbage collector may finalize the owner of borrowed memory only while no such handle
// exists, and it reads their number twice in one pass: what it has found garbage after the first
// time must not come into use before the second.  So the number of keepers rises only with the GIL
// held.  It may fall on any thread: the collector then finds less garbage than there is, until its
// next pass.  A plain `Memory` is held by an instance, or by a call that has an instance as its
// argument; the collector knows both.
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
// A handle of other code.
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
  // No holder has submitted any.
  void give_back_unused() noexcept {
    if (!submits_) return;
    submits_ = false;
    memory()->use.give_back_unused();  // a queue that it named stays until it was seen idle
  }

 private:
  MemoryKeeper keeper_;
  bool submits_;
};

// Host memory at this address is USM.  If it is a block of this package that the host had a view
// of, other code can submit work on the block from now on.  Its entry; nullptr: another block.
const Entry* expose_block_at(const void* data) noexcept;

// Entry of the live block of a private context that contains the address; nullptr: there is none.
const Entry* private_entry_at(const void* address) noexcept;

// An owner that keeps another handle.
Owner keep_memory(Memory memory);

// A new block.  Error(memory) names size, kind and device; Error(buffer): the device has no USM of
// that kind.  An empty queue: the queue of the entry is used.
//
// `dedicated`: for other processes, not from the pools of this package or of the runtime.  The
// Level Zero adapters allocate parts of slabs, and an inter-process handle exposes the whole slab;
// blocks above the limit of their pools (4 MiB, unless UR_L0_USM_ALLOCATOR says more) are
// allocations of the driver, so the block is at least that large.
Memory allocate(const Entry& entry, UsmKind kind, std::size_t nbytes, Queue queue = {},
                bool dedicated = false);

// Page-aligned host memory (kind `system`, no entry): page alignment avoids the slow path of memcpy
// between a page-aligned USM block and a malloc block of another offset.  `queue`: for work on it.
Memory allocate_host(std::size_t nbytes, Queue queue = {});

// Live blocks, allocated and borrowed.
long live_allocations();
// Gives the blocks that are kept for the next allocations back to the runtime.
void release_cached_memory() noexcept;

// A block that `owner` owns.
Memory borrow(void* data, std::size_t nbytes, UsmKind kind, const Entry* entry, Queue queue,
              Owner owner);

}  // namespace sycl_ext
