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
#include <cstdint>
#include <optional>
#include <utility>

#include "runtime/memory/deferred_free.hpp"
#include "runtime/memory/usm_pointers.hpp"
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
  void show() const;
  // The host gets a view, which may return as host memory of other code (came_back).
  void show_to_host() const;
  // Fetches the queues of other code's work, so that they can be asked without the GIL.
  void fetch_queues() const;

  // The queues on which work on the block may be pending.  Does not ask the runtime.
  //
  // These are: the entry's queue for commands of this package; and if other code can submit work on
  // the block, its own queue, that of its entry, and that of the root device, whose id memory of a
  // sub-device is exported with.  Other code can do so while it holds a block of this package
  // (InUse), until the queues were seen idle after the last such holder; and always for memory or a
  // queue that it provided.
  QueueSet busy_queues() const noexcept {
    return busy_queues(was_handed_out() || (!is_ours() && kind != UsmKind::system));
  }
  // The same, with or without those for the work of others.
  QueueSet busy_queues(bool of_others) const noexcept;
  // Whether there may be any; in a forked child, also a copy of its parent.
  bool may_have_work() const noexcept {
    return !busy_queues().empty() || (is_forked_child() && entry);
  }
  // Waits for all of it, without the GIL.  `told`: an error of a copy counts as reported.
  void wait_for_work(bool told = true) const {
    if (may_have_work()) settle(true, told);
  }
  // Whether none is pending, as far as this process can know.  Never waits: false if only a wait
  // could tell.  Releases the GIL.
  bool is_idle() const;

  // The owner of a borrowed block that `release` releases, also through a handle that only this one
  // keeps; nullptr: another kind of owner, or none.
  void* owner_released_by(void (*release)(void*)) const noexcept;
  // The owner of a borrowed block waits for work on it, unless other code got the block here.
  QueueSet awaited_queues() const noexcept override { return busy_queues(was_handed_out()); }
  // For Python's side: the instance that represents the memory to the collector; under the GIL.
  mutable void* representative = nullptr;
  // Whether this is host memory from allocate_host().
  bool is_host_copy() const noexcept { return is_ours() && !entry; }
  // Whether this package allocated the block.
  bool is_ours() const noexcept { return !owner_; }
  // Whether it belongs to a private context.  If every context of a driver knows every pointer,
  // only this distinguishes it from memory of the default context.
  bool is_private() const noexcept { return entry && !entry->default_context && nbytes > 0; }

 private:
  friend class Memory;
  friend class InUse;
  friend const Entry* came_back(const void* data) noexcept;
  // For the last handle.  Pending work on the block is not waited for.
  static void let_go(const Allocation* block) noexcept;
  bool is_counted() const noexcept { return is_ours() && capacity > 0; }
  // Other code got the block, or the queue came from other code.
  bool was_handed_out() const noexcept {
    return own_queue || is_shown_ || handles_.load(std::memory_order_acquire) >= user ||
           gone_.load(std::memory_order_acquire) != seen_.load(std::memory_order_relaxed);
  }
  // Asks the queues, and records when they are idle.  `wait`: until they are.
  bool settle(bool wait, bool told) const;

  std::optional<Owner> owner_;  // of a borrowed block
  // Each handle counts in the lower half, that of a holder that can submit work in both (InUse).
  static constexpr std::uint64_t user = (std::uint64_t{1} << 32) + 1;
  mutable std::atomic<std::uint64_t> handles_{1};
  // The number of such holders that have gone, and the same when the queues were last seen idle.
  mutable std::atomic<std::int64_t> gone_{0}, seen_{0};
  mutable std::atomic<bool> is_shown_{false}, is_seen_by_host_{false};
};

class Memory {
 public:
  explicit Memory(const Allocation* block) noexcept : block_(block) {}  // its first handle
  Memory(const Memory& other, std::uint64_t count = 1) noexcept : block_(other.block_) {
    if (block_) block_->handles_.fetch_add(count, std::memory_order_relaxed);
  }
  Memory(Memory&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  Memory& operator=(Memory other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~Memory() { reset(); }
  void reset(std::uint64_t count = 1) noexcept {
    const Allocation* const block = std::exchange(block_, nullptr);
    if (!block || block->handles_.fetch_sub(count, std::memory_order_acq_rel) != count) return;
    Allocation::let_go(block);
  }
  std::int64_t use_count() const noexcept {
    return static_cast<std::uint32_t>(block_->handles_.load(std::memory_order_acquire));
  }
  const Allocation& operator*() const noexcept { return *block_; }
  const Allocation* operator->() const noexcept { return block_; }

 private:
  const Allocation* block_;
};

// A handle of a holder that can submit work on the memory.
class InUse {
 public:
  // `submits`: false for a consumer on the host, which cannot.
  InUse(const Memory& memory, bool submits) noexcept
      : memory_(memory, submits ? Allocation::user : 1), submits_(submits) {}
  ~InUse() {
    if (!submits_) return;
    memory_->gone_.fetch_add(1, std::memory_order_release);
    memory_.reset(Allocation::user);
  }
  InUse(const InUse&) = delete;

  const Memory& memory() const noexcept { return memory_; }
  // No holder has submitted any.
  void was_not_used() noexcept {
    if (std::exchange(submits_, false)) memory_->handles_ -= Allocation::user - 1;
  }
  // The handle, which has come back to this package.
  Memory take_back() noexcept {
    was_not_used();
    return std::move(memory_);
  }

 private:
  Memory memory_;
  bool submits_;
};

// Host memory at this address is USM.  If it is a block of this package that the host had a view
// of, other code can submit work on the block from now on.  Its entry; nullptr: another block.
const Entry* came_back(const void* data) noexcept;

// Entry of the live block of a private context that contains the address; nullptr: there is none.
const Entry* private_entry_at(const void* address) noexcept;

// An owner that keeps another handle.
Owner keep_memory(Memory memory);

// Whether this thread may ask queues whether they are idle, and free idle blocks, instead of
// leaving them to the thread that frees.  A thread of the runtime, in which dpctl drops the
// arguments of a command, may not: another thread may hold the lock of the queue while it waits for
// the host task that runs in this thread, which would be a deadlock.
inline __thread bool may_ask_queues __attribute__((tls_model("initial-exec"))) = false;

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
