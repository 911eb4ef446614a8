// SPDX-License-Identifier: Apache-2.0
// Unified shared memory: who owns a block, of which kind it is, to which entry it is bound.
//
// A `Memory` is a shared handle; the last one to go releases the block.  That may happen on any
// thread, without the GIL and after the interpreter is gone, so nothing here knows Python.  It may
// even be a thread of the runtime, in the middle of a command that the block's queue waits for, so
// nothing here waits: a block with work on it is freed when that work is done (deferred_free.hpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "runtime/deferred_free.hpp"
#include "runtime/queue.hpp"
#include "runtime/usm_pointers.hpp"
#include "runtime/usm_pools.hpp"

namespace sycl_ext {

// What keeps a borrowed block alive, and how it is let go.  `release` must not throw.
using Owner = std::unique_ptr<void, void (*)(void*)>;

class Allocation;
using Memory = std::shared_ptr<const Allocation>;

// A block and its way back, of a kind and an entry that never change.  Whoever destroys it releases
// the block, on any thread; the runtime is asked without the GIL.
class Allocation final : public Deferred {
 public:
  // How a block of our own is given back.
  using Free = void (*)(const Allocation&) noexcept;

  std::byte* const data;  // nullptr when nbytes is 0
  const std::size_t nbytes;
  const std::size_t capacity;  // of the block, which may come from a pool; not less than nbytes

  // Releases the block also when it throws.  `entry` nullptr: plain host memory that belongs to no
  // device; `free_block` nullptr: the block is borrowed from `owner`; an empty `own_queue` stands
  // for the entry's.
  Allocation(KeptBlock block, std::size_t nbytes, UsmKind kind, const Entry* entry, Owner owner,
             Free free_block, Queue own_queue);
  // The last handle leaves this to the thread that frees where work may touch the block.
  ~Allocation() override;

  UsmKind kind() const noexcept { return kind_; }
  // nullptr: plain host memory that belongs to no device.
  const Entry* entry() const noexcept { return entry_; }
  // The queue that others are told to submit work on the block to: its own, or the entry's.  Empty
  // when there is no entry.
  const Queue& queue() const { return own_queue_ || !entry() ? own_queue_ : entry()->queue(); }
  const Queue& own_queue() const noexcept { return own_queue_; }

  // From now on other code can submit work on the block, as long as it lives: its address or its
  // queue was shown. Fetches the queues that such work goes to.
  void show() const;
  // The host gets a view, which may come back to us as somebody's host memory (came_back).
  void show_to_host() const;
  // Fetches the queues that others submit work to, so that they can be asked without the GIL.
  void fetch_queues() const;

  // The queues on which work may be pending that touches the block.  Does not ask the runtime.
  //
  // These are: the entry's queue for our own commands; and where others can submit work on the
  // block, its own queue, that of its entry, and that of the root device, under whose id memory of
  // a sub-device is handed out.  Others are: who has a block of ours (InUse), until the queues were
  // seen idle after the last of them had gone; for ever whoever gave us the block, or a queue.
  QueueSet busy_queues() const noexcept { return busy_queues(is_reachable_for_others()); }
  // Whether there may be any on them.
  bool may_have_work() const noexcept { return !busy_queues().empty(); }
  // Waits for all of it, without the GIL.
  void wait_for_work() const { settle(true, true); }
  // The same; an error of a copy is raised, and counts as one that nobody has been told of.
  void wait_quietly() const { settle(true, false); }
  // Whether none is pending, and this process can still say so.  Never waits: false where the
  // queue would have to be waited for to know.  Releases the GIL.
  bool is_idle() const;

  // The handle of the same block that keeps this one's memory; nullptr: there is none.
  const Memory* kept() const noexcept;
  // The owner of a borrowed block that `release` lets go, also when it is the block of another
  // handle that nobody else holds; nullptr: another kind of owner, or none.
  void* owner_released_by(void (*release)(void*)) const noexcept;
  QueueSet awaited_queues() const noexcept override;
  // For Python's side: the instance that represents the memory to the collector; under the GIL.
  void*& representative() const noexcept { return representative_; }
  // Whether this is host memory of our own making (allocate_host).
  bool is_host_copy() const noexcept { return is_ours() && !entry(); }
  // Whether this is a block as we allocated it, from its first byte on.
  bool is_ours() const noexcept { return free_block_ != nullptr; }
  // Whether it belongs to a private context.  Where every context of a driver knows every pointer,
  // nothing else tells it from memory of the default context.
  bool is_private() const noexcept { return entry_ && !entry_->default_context && nbytes > 0; }

 private:
  friend class InUse;
  friend const Entry* came_back(const void* data) noexcept;
  Allocation(KeptBlock block, std::size_t nbytes, UsmKind kind, const Entry* entry, Owner&& owner,
             Free free_block) noexcept;
  bool is_counted() const noexcept { return free_block_ && capacity > 0; }
  bool was_handed_out() const noexcept {
    return is_shown_ || users_.load(std::memory_order_acquire) != 0 ||
           gone_.load(std::memory_order_acquire) != seen_.load(std::memory_order_relaxed);
  }
  bool is_reachable_for_others() const noexcept {
    return was_handed_out() || own_queue_ || (!is_ours() && kind() != UsmKind::system);
  }
  QueueSet busy_queues(bool of_others) const noexcept;
  // Asks the queues, and remembers when they are idle.  `wait`: until they are.
  bool settle(bool wait, bool told) const;

  const UsmKind kind_;
  const Entry* const entry_;
  Owner owner_;            // of a borrowed block
  const Free free_block_;  // of a block of our own
  Queue own_queue_;        // empty: the entry's serves
  mutable void* representative_ = nullptr;
  // Users that can submit work on the block (class InUse): how many there are, how many have
  // gone, and how many of those had gone when the block's queues were last seen idle.
  mutable std::atomic<std::int64_t> users_{0}, gone_{0}, seen_{0};
  mutable std::atomic<bool> is_shown_{false}, is_seen_by_host_{false};
};

// A handle of a user that can submit work on the memory.
class InUse {
 public:
  // `submits`: false for a consumer on the host, which cannot.
  InUse(Memory memory, bool submits) noexcept : memory_(std::move(memory)), submits_(submits) {
    if (submits_) memory_->users_.fetch_add(1, std::memory_order_relaxed);
  }
  ~InUse() {
    if (!submits_) return;
    memory_->gone_.fetch_add(1, std::memory_order_release);
    memory_->users_.fetch_sub(1, std::memory_order_release);
  }
  InUse(const InUse&) = delete;
  InUse& operator=(const InUse&) = delete;

  const Memory& memory() const noexcept { return memory_; }
  // It goes without having been used.
  void was_not_used() noexcept {
    if (submits_) memory_->users_.fetch_sub(1, std::memory_order_release);
    submits_ = false;
  }

 private:
  const Memory memory_;
  bool submits_;
};

// Host memory at this address has turned out to be USM.  Where it is a block of ours of which the
// host had a view, the block is one that others can submit work on from now on.  Its entry;
// nullptr: it is no such block.
const Entry* came_back(const void* data) noexcept;

// Entry of the block of a private context that contains the address, among those that are held;
// nullptr: there is none.
const Entry* private_entry_at(const void* address) noexcept;

// An owner that keeps another handle.
Owner keep_memory(Memory memory);

// Says that this thread is none of the SYCL runtime's: it frees idle blocks itself, instead of
// leaving them to the thread that frees what is pending.
void this_thread_may_ask_queues() noexcept;

// A new block, freed by us.  Error(memory) names size, kind and device; Error(buffer): the device
// has no USM of that kind.  An empty queue stands for the entry's.
Memory allocate(const Entry& entry, UsmKind kind, std::size_t nbytes, Queue queue = {});

// A new block of 'device' USM for other processes: it comes from no pool, and goes back to none, as
// far as we can say so.  The Level Zero adapters hand out parts of slabs, and a handle between
// processes shows the whole slab; what is larger than they pool (4 MiB, unless UR_L0_USM_ALLOCATOR
// says more) is an allocation of the driver by itself, so the block is at least that large.
Memory allocate_dedicated(const Entry& entry, std::size_t nbytes, Queue queue = {});

// Page-aligned host memory (kind `system`, no entry): page alignment avoids the slow path of memcpy
// between a page-aligned USM block and a malloc block of another offset.
Memory allocate_host(std::size_t nbytes);

// Blocks that are held now, our own and borrowed ones.
long live_allocations() noexcept;

// A block that somebody else owns.
Memory borrow(void* data, std::size_t nbytes, UsmKind kind, const Entry* entry, Queue queue,
              Owner owner);

}  // namespace sycl_ext
