// SPDX-License-Identifier: Apache-2.0
#include "runtime/usm.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <new>
#include <sstream>

#include "base/extents.hpp"
#include "base/fork.hpp"
#include "base/interpreter.hpp"
#include "runtime/device_table.hpp"
#include "runtime/memory_limit.hpp"
#include "runtime/runtime_call.hpp"
#include "runtime/sycl_handles.hpp"

namespace sycl_ext {

namespace {

std::atomic<long> held_blocks{0};

void keep_nothing(void*) {}

void give_back(const Allocation& block) noexcept {
  keep({block.data, block.capacity}, block.entry(), block.kind());
}

void give_back_dedicated(const Allocation& block) noexcept {
  free_block(block.data, block.entry());
}

// Page-aligned memory for at least `nbytes`, from the pools or fresh.
KeptBlock take_host_block(std::size_t nbytes) {
  constexpr std::size_t page = 4096, huge_page = std::size_t{2} << 20;
  if (const KeptBlock kept = take_kept(nullptr, UsmKind::system, nbytes); kept.data) return kept;
  void* block = nullptr;
  const std::size_t capacity = BlockPool::rounded(nbytes);
  const bool large = nbytes >= 2 * huge_page;
  if (posix_memalign(&block, large ? huge_page : page, capacity) != 0) {
    fail(Error::Kind::memory, "cannot allocate ", nbytes, " bytes of host memory");
  }
  // Touching fresh memory page by page costs as much as the copy into it.
  if (large) madvise(block, nbytes, MADV_HUGEPAGE);
  return {block, capacity};
}

// For the last handle of a block.  Pending work on the block is not waited for.
void let_go(const Allocation* block) noexcept;

// A block of this package, which `take` allocates when all else that needs memory is there.
template <class Take>
Memory own(std::size_t nbytes, UsmKind kind, const Entry* entry, Queue queue,
           Allocation::Free free_block, const Take& take) {
  return {new Allocation(take(), nbytes, kind, entry, Owner(nullptr, keep_nothing), free_block,
                         std::move(queue)),
          let_go};
}

[[noreturn]] void fail_allocation(std::size_t nbytes, UsmKind kind, const Entry& entry,
                                  const char* reason) {
  fail(Error::Kind::memory, "cannot allocate ", nbytes, " bytes of '", usm_kind_name(kind),
       "' USM on device ", entry.id, " ('", entry.name, "'): ", reason,
       "; free other tensors, or take a smaller block or another usm_type");
}

// nullptr: not enough memory.
void* fresh_usm(std::size_t nbytes, UsmKind wanted, const Entry& entry) {
  const WithoutGil released;
  // Recently freed blocks may still be on their way back.
  if (nbytes > BlockPool::largest_small && deferred_frees() > 0) {
    settle_deferred_frees(std::chrono::milliseconds(2));
  }
  const RuntimeCall call("allocating USM");
  try {
    return sycl::malloc(BlockPool::rounded(nbytes), entry.sycl->device, entry.sycl->context,
                        alloc_of(wanted));
  } catch (const sycl::exception& error) {
    fail_allocation(nbytes, wanted, entry, error.what());
  }
}

// The queue to record besides the entry's; empty if it is the same.
Queue apart_from(const Entry* entry, Queue queue) {
  if (!entry || !queue) return queue;
  // In a private context the entry's queue is fetched only on request.
  const Queue* const shared = entry->default_context ? &entry->queue() : entry->fetched_queue();
  return shared && queue == *shared ? Queue() : queue;
}

// Whether this thread may ask queues whether they are idle.  A thread of the runtime, in which
// dpctl drops the arguments of a command, may not: another thread may hold the lock of the queue
// while it waits for the host task that runs in this thread, which would be a deadlock.
thread_local bool may_ask __attribute__((tls_model("initial-exec"))) = false;

// The blocks that are found by an address: those of private contexts, and those that the host had a
// view of.  Never destroyed.
Extents<const Allocation>& found_by_address = *new Extents<const Allocation>;

void release_memory(void* memory) { delete static_cast<Memory*>(memory); }

// An owner may keep, through an object of another library, a block of this package, whose owner
// keeps the next one: `t = as_tensor(t.to_numpy())` makes such chains of any length.  The outermost
// release of a thread does the releases below this depth, as in CPython's trashcan, because
// recursion would overflow the stack.
constexpr int deepest_release = 50;

struct LeftOwner {
  Owner owner;
  LeftOwner* next;
};
// On the heap, and not in the frame of the outermost release, whose stack a greenlet may swap out.
thread_local LeftOwner* left_owners __attribute__((tls_model("initial-exec"))) = nullptr;
thread_local int release_depth __attribute__((tls_model("initial-exec"))) = 0;

void release_owner(Owner owner) noexcept {
  if (!owner) return;
  if (release_depth >= deepest_release) {
    if (auto* const left = new (std::nothrow) LeftOwner{std::move(owner), left_owners}) {
      left_owners = left;
      return;
    }
  }
  ++release_depth;
  owner.reset();
  while (release_depth == 1 && left_owners) {
    const std::unique_ptr<LeftOwner> left(left_owners);
    left_owners = left->next;
  }
  --release_depth;
}

void let_go(const Allocation* block) noexcept {
  std::unique_ptr<Allocation> mine(const_cast<Allocation*>(block));
  const QueueSet awaited = block->awaited_queues();
  if (awaited.empty()) return;
  if (may_ask) {
    const WithoutGil released;
    if (std::all_of(awaited.begin(), awaited.end(),
                    [](const Queue* queue) { return queue->is_device_idle(); })) {
      return;
    }
  }
  free_after_work(std::move(mine));
}

}  // namespace

Allocation::Allocation(KeptBlock block, std::size_t nbytes, UsmKind kind, const Entry* entry,
                       Owner&& owner, Free free_block) noexcept
    : data(static_cast<std::byte*>(block.data)),
      nbytes(nbytes),
      capacity(block.nbytes),
      kind_(kind),
      entry_(entry),
      owner_(std::move(owner)),
      free_block_(free_block) {
  held_blocks.fetch_add(1, std::memory_order_relaxed);
  if (is_counted()) use_of(entry, kind).begins(capacity);
}

// From the other constructor on the destructor runs, whatever fails.
Allocation::Allocation(KeptBlock block, std::size_t nbytes, UsmKind kind, const Entry* entry,
                       Owner owner, Free free_block, Queue own_queue)
    : Allocation(block, nbytes, kind, entry, std::move(owner), free_block) {
  own_queue_ = apart_from(entry, std::move(own_queue));
  if (is_private()) found_by_address.add(data, nbytes, this);
  if (!is_ours() && kind != UsmKind::system) fetch_queues();
  // Errors of copies to the same addresses before are not reported.
  const Queue* const commands = is_ours() && entry ? entry->made_commands() : nullptr;
  if (commands) (void)commands->failure_of_copies(data, nbytes, true);
}

Allocation::~Allocation() {
  if (is_private() || is_seen_by_host_) found_by_address.remove(data, nbytes, this);
  if (is_counted()) use_of(entry_, kind_).ends(capacity);
  if (free_block_) free_block_(*this);
  release_owner(std::move(owner_));
  held_blocks.fetch_sub(1, std::memory_order_relaxed);
}

// The owner of a borrowed block waits for work on it, unless other code got the block here.
QueueSet Allocation::awaited_queues() const noexcept {
  return busy_queues(was_handed_out() || own_queue_);
}

void this_thread_may_ask_queues() noexcept { may_ask = true; }

Owner keep_memory(Memory memory) { return {new Memory(std::move(memory)), release_memory}; }

const Memory* Allocation::kept() const noexcept {
  if (owner_.get_deleter() != release_memory) return nullptr;
  return static_cast<const Memory*>(owner_.get());
}

void* Allocation::owner_released_by(void (*release)(void*)) const noexcept {
  if (owner_.get_deleter() == release) return owner_.get();
  const Memory* const memory = kept();
  return memory && memory->use_count() == 1 ? (*memory)->owner_released_by(release) : nullptr;
}

void Allocation::show() const {
  if (!entry()) return;
  fetch_queues();
  is_shown_ = true;
}

void Allocation::show_to_host() const {
  if (!is_ours() || !entry() || is_seen_by_host_.exchange(true) || is_private()) return;
  found_by_address.add(data, nbytes, this);
}

const Entry* came_back(const void* data) noexcept {
  const Entry* entry = nullptr;
  found_by_address.visit(data, [&entry](const Allocation* block) {
    if (!block->is_seen_by_host_) return false;
    block->is_shown_ = true;
    entry = block->entry();
    return true;
  });
  return entry;
}

const Entry* private_entry_at(const void* address) noexcept {
  const Entry* entry = nullptr;
  found_by_address.visit(address, [&entry](const Allocation* block) {
    if (block->is_private()) entry = block->entry();
    return entry != nullptr;
  });
  return entry;
}

void Allocation::fetch_queues() const {
  const Entry* const mine = entry();
  if (!mine || !mine->default_context) return;
  mine->queue();
  if (mine->kind == EntryKind::sub_device) entry_at(mine->root_id).queue();
}

QueueSet Allocation::busy_queues(bool of_others) const noexcept {
  QueueSet set;
  const auto add = [&set](const Queue* queue) {
    if (queue && queue->may_have_work()) set.add(*queue);
  };
  const Entry* const mine = entry();
  if (mine) add(mine->made_commands());
  if (!of_others) return set;
  if (own_queue_) add(&own_queue_);
  if (!mine) return set;
  add(mine->fetched_queue());
  add(mine->made_extension_queue());
  if (mine->kind == EntryKind::sub_device && mine->default_context) {
    add(find_entry(mine->root_id)->fetched_queue());
  }
  return set;
}

bool Allocation::settle(bool wait, bool told) const {
  // Before the queues are chosen: later holders are asked about the next time.
  const std::int64_t gone = gone_.load(std::memory_order_acquire);
  for (const Queue* queue : busy_queues()) {
    const bool is_idle = queue->is_idle();
    if (!is_idle && !wait) return false;
    if (!is_idle) queue->wait();
    if (!wait) continue;
    const std::string failure = queue->failure_of_copies(data, nbytes, told);
    if (!failure.empty()) fail(Error::Kind::runtime, "a copy to this memory has failed: ", failure);
  }
  seen_.store(gone, std::memory_order_relaxed);
  return true;
}

bool Allocation::is_idle() const {
  if (entry() && is_forked_child() && !entry()->is_cpu()) return false;
  return busy_queues().empty() || (may_ask && settle(false, false));
}

namespace {

// For a block of `size` bytes for an allocation of `nbytes`.
void require_room(const Entry& entry, UsmKind kind, std::size_t size, std::size_t nbytes) {
  const Entry* const passed = passed_limit(entry, kind, size);
  if (!passed) return;
  std::ostringstream reason;
  reason << "of the " << passed->memory_limit << " bytes that sycl_ext.memory.limit allows device "
         << passed->id << ", " << bytes_on(*passed) << " are in use";
  fail_allocation(nbytes, kind, entry, reason.str().c_str());
}

// Allocates a block of `size` bytes for an allocation of `nbytes`. If there is not enough memory,
// cached memory is released first.
KeptBlock take_fresh_usm(std::size_t size, std::size_t nbytes, UsmKind wanted, const Entry& entry) {
  void* data = fresh_usm(size, wanted, entry);
  const auto try_again = [&] {
    release_cached_memory();
    data = fresh_usm(size, wanted, entry);
    return data != nullptr;
  };
  if (!data && !try_again() && !is_room_made(entry, size, try_again)) {
    fail_allocation(nbytes, wanted, entry, "the runtime has no memory left");
  }
  return {data, size};
}

// `size`: of a block without a pool; 0: from a pool if possible.
Memory allocate(const Entry& entry, UsmKind kind, std::size_t nbytes, std::size_t size,
                Queue queue) {
  require_usm(entry, kind);
  require_not_forked([&entry] { return entry.is_cpu(); });
  return own(nbytes, kind, &entry, std::move(queue), size ? give_back_dedicated : give_back,
             [&]() -> KeptBlock {
               if (nbytes == 0) return {};
               const std::size_t wanted = size ? size : BlockPool::rounded(nbytes);
               require_room(entry, kind, wanted, nbytes);
               const KeptBlock kept = size ? KeptBlock{} : take_kept(&entry, kind, nbytes);
               return kept.data ? kept : take_fresh_usm(wanted, nbytes, kind, entry);
             });
}

}  // namespace

Memory allocate(const Entry& entry, UsmKind kind, std::size_t nbytes, Queue queue) {
  return allocate(entry, kind, nbytes, 0, std::move(queue));
}

Memory allocate_dedicated(const Entry& entry, std::size_t nbytes, Queue queue) {
  // The smallest multiple of Level Zero's page size that is more than the adapters pool.
  constexpr std::size_t page = std::size_t{64} << 10, least = (std::size_t{4} << 20) + page;
  return allocate(entry, UsmKind::device, nbytes, std::max(nbytes, least), std::move(queue));
}

Memory allocate_host(std::size_t nbytes) {
  return own(nbytes, UsmKind::system, nullptr, {}, give_back,
             [nbytes] { return nbytes ? take_host_block(nbytes) : KeptBlock{}; });
}

long live_allocations() noexcept { return held_blocks; }

Memory borrow(void* data, std::size_t nbytes, UsmKind kind, const Entry* entry, Queue queue,
              Owner owner) {
  return {new Allocation({data, nbytes}, nbytes, kind, entry, std::move(owner), nullptr,
                         std::move(queue)),
          let_go};
}

}  // namespace sycl_ext
