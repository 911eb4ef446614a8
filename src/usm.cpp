// SPDX-License-Identifier: Apache-2.0
#include "usm.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "extents.hpp"
#include "fork.hpp"
#include "interpreter.hpp"
#include "interruptible.hpp"
#include "runtime_call.hpp"
#include "sycl_handles.hpp"

namespace sycl_ext {

namespace {

struct KindRow {
  UsmKind kind;
  const char* name;
  sycl::usm::alloc sycl_kind;
  bool Row::* aspect;
};

constexpr std::array<KindRow, 4> kinds{{
    {UsmKind::device, "device", sycl::usm::alloc::device, &Row::usm_device},
    {UsmKind::shared, "shared", sycl::usm::alloc::shared, &Row::usm_shared},
    {UsmKind::host, "host", sycl::usm::alloc::host, &Row::usm_host},
    {UsmKind::system, "system", sycl::usm::alloc::unknown, &Row::usm_system},
}};

const KindRow& row_for(UsmKind kind) noexcept { return kinds[static_cast<std::size_t>(kind)]; }

using Block = LargeBlockPool::Block;

std::atomic<long> blocks_alive{0};

// How long an allocation waits for pending work to make room.
constexpr std::chrono::seconds longest_wait_for_room{5};

void keep(void*) {}

// Never destroyed: a block may come back after the static destructors.
BlockPool& host_pool() {
  static BlockPool* const pool = new BlockPool;
  return *pool;
}

BlockPool& pool_of(const Row& row, UsmKind kind) {
  return row.pools().small[static_cast<std::size_t>(kind)];
}

bool is_cpu(const Row& row) noexcept { return row.device_type == "cpu"; }

void free_usm(void* block, const Row& row) noexcept {
  if (is_forked_child() && !is_cpu(row)) return;  // it is the parent's
  if (is_process_ending()) return;
  const WithoutGil released;
  const RuntimeCall call("freeing USM");  // on OpenCL it waits for kernels that may use the block
  try {
    sycl::free(block, row.sycl->context);
  } catch (...) {  // a deleter never raises; the block is lost
  }
}

// Keeps a block in one of two pools, and frees what they do not keep.
template <class Release>
void give_back(const HeldBlock& block, BlockPool& small, LargeBlockPool* large,
               Release release) noexcept {
  if (!block.data) return;
  if (BlockPool::serves(block.capacity)) {
    if (!small.keep(block.data, block.capacity)) release(block.data);
  } else if (large) {
    try {
      for (const auto& gone : large->keep({block.data, block.capacity})) release(gone.data);
    } catch (...) {  // no memory to remember the block with
      release(block.data);
    }
  } else {
    release(block.data);
  }
}

// Where a row keeps its large blocks of a kind; nullptr: nowhere.
LargeBlockPool* large_pool_of(const Row& row, UsmKind kind) {
  return kind == UsmKind::host ? &row.pools().staging : nullptr;
}

void give_back_usm(const HeldBlock& block) noexcept {
  if (!block.data) return;
  const Row& row = *block.row;
  give_back(block, pool_of(row, block.kind), large_pool_of(row, block.kind),
            [&row](void* data) { free_usm(data, row); });
}

// Gives back what an entry keeps.
void drain_pools(const Row& row) noexcept {
  EntryPools* const pools = row.made_pools();
  if (!pools) return;
  for (BlockPool& pool : pools->small) {
    pool.drain([&row](void* block) { free_usm(block, row); });
  }
  for (const auto& block : pools->staging.drain()) free_usm(block.data, row);
}

// The same in the thread of the deferred frees: the caller may hold the GIL, and references to what
// another Python thread could change.
void drain_pools_later(const std::vector<const ContextEntry*>& entries) {
  for (const ContextEntry* entry : entries) {
    const Row* const row = static_cast<const Row*>(entry);
    if (!row->made_pools()) continue;
    free_after_work({}, {row, [](const Row* dropped) { drain_pools(*dropped); }});
  }
}

void give_back_dedicated(const HeldBlock& block) noexcept {
  if (block.data) free_usm(block.data, *block.row);
}

LargeBlockPool& large_host_pool() {
  static LargeBlockPool* const pool =
      new LargeBlockPool(std::size_t{32} << 20, std::size_t{64} << 20);
  return *pool;
}

void give_back_host(const HeldBlock& block) noexcept {
  give_back(block, host_pool(), &large_host_pool(), [](void* data) { std::free(data); });
}

// A kept block for at least `nbytes`, with its true size; {nullptr, 0}: none.
Block take_kept(std::size_t nbytes, BlockPool& small, LargeBlockPool* large) noexcept {
  if (!BlockPool::serves(nbytes)) return large ? large->take(nbytes) : Block{nullptr, 0};
  void* const data = small.take(nbytes);
  return {data, data ? BlockPool::rounded(nbytes) : 0};
}

// Page-aligned memory for at least `nbytes`, from the pools or fresh.
Block take_host_block(std::size_t nbytes) {
  constexpr std::size_t page = 4096, huge_page = std::size_t{2} << 20;
  if (const Block kept = take_kept(nbytes, host_pool(), &large_host_pool()); kept.data) return kept;
  void* block = nullptr;
  const std::size_t capacity = BlockPool::rounded(nbytes);
  const bool large = nbytes >= 2 * huge_page;
  if (posix_memalign(&block, large ? huge_page : page, capacity) != 0) {
    fail(Error::Kind::memory, "cannot allocate ", nbytes, " bytes of host memory");
  }
#if defined(MADV_HUGEPAGE)
  // Touching fresh memory page by page costs as much as the copy into it.
  if (large) madvise(block, nbytes, MADV_HUGEPAGE);
#endif
  return {block, capacity};
}

// Which row a pointer belonged to when it was last met, so that asking again does not ask every
// context.  Only a hint: a block may be freed, and its address be given to another one.
class SeenPointers {
 public:
  std::optional<std::uint32_t> find(const void* pointer) const noexcept {
    const auto [index, tag] = place_of(pointer);
    const std::uint64_t entry = entries_[index].load(std::memory_order_relaxed);
    if (entry == 0 || entry >> value_bits != tag) return std::nullopt;
    return static_cast<std::uint32_t>(entry & value_mask) - 1;
  }

  void put(const void* pointer, std::uint32_t value) noexcept {
    if (value >= value_mask) return;
    const auto [index, tag] = place_of(pointer);
    const std::uint64_t entry = tag << value_bits | (value + 1);
    if (entries_[index].load(std::memory_order_relaxed) != entry) {
      entries_[index].store(entry, std::memory_order_relaxed);
    }
  }

 private:
  static constexpr int line_bits = 51;  // 57 bits of address, 64 bytes in a line
  static constexpr int index_bits = 12;
  static constexpr int value_bits = 64 - (line_bits - index_bits);
  static constexpr std::uint64_t value_mask = (std::uint64_t{1} << value_bits) - 1;

  struct Place {
    std::size_t index;
    std::uint64_t tag;
  };
  // An odd factor permutes the numbers of 51 bits, so index and tag together name one line.
  static Place place_of(const void* pointer) noexcept {
    const std::uint64_t line = reinterpret_cast<std::uintptr_t>(pointer) >> 6;
    const std::uint64_t mixed = line * 0x9E3779B97F4A7C15u & ((std::uint64_t{1} << line_bits) - 1);
    constexpr int tag_bits = line_bits - index_bits;
    return {static_cast<std::size_t>(mixed >> tag_bits),
            mixed & ((std::uint64_t{1} << tag_bits) - 1)};
  }

  std::array<std::atomic<std::uint64_t>, std::size_t{1} << index_bits> entries_{};
};

SeenPointers& seen() noexcept {
  static SeenPointers instance;  // trivially destroyed: good until the process ends
  return instance;
}

// Values from here on say: not USM of the default contexts, and of no private one that came into
// use with a number less than (value - nobodys).
constexpr std::uint32_t nobodys = 1u << 24;
constexpr std::size_t always_asked = 8;  // private contexts; more than these are asked once

// Blocks of private contexts that are alive; never destroyed.
Extents<const Row>& private_blocks() {
  static auto* const blocks = new Extents<const Row>;
  return *blocks;
}

// A pointer that every context of the driver knows belongs to none of them for sure.
void remember(const void* pointer, const Row& row) noexcept {
  if (!row.driver_wide) seen().put(pointer, static_cast<std::uint32_t>(row.id));
}

Memory own(Block block, std::size_t nbytes, UsmKind kind, const Row* row, Queue queue,
           HeldBlock::Free free_block) {
  if (row && block.data) remember(block.data, *row);
  return std::make_shared<const Allocation>(
      HeldBlock(static_cast<std::byte*>(block.data), nbytes, block.nbytes, kind, row,
                Owner(nullptr, keep), free_block),
      std::move(queue));
}

const Row& owning_row(const void* pointer, const Row& row, UsmKind kind) {
  return kind == UsmKind::host ? row : allocating_row(pointer, row);
}

[[noreturn]] void fail_allocation(std::size_t nbytes, const KindRow& kind, const Row& row,
                                  const char* reason) {
  fail(Error::Kind::memory, "cannot allocate ", nbytes, " bytes of '", kind.name,
       "' USM on device ", row.id, " ('", row.name, "'): ", reason,
       "; free other tensors, or take a smaller block or another usm_type");
}

// nullptr: there is no room.
void* fresh_usm(std::size_t nbytes, const KindRow& wanted, const Row& row) {
  // What was freed a moment ago may be on its way back.
  if (!BlockPool::serves(nbytes) && deferred_frees() > 0) {
    const WithoutGil released;
    settle_deferred_frees(std::chrono::milliseconds(2));
  }
  const WithoutGil released;
  const RuntimeCall call("allocating USM");
  try {
    return sycl::malloc(BlockPool::rounded(nbytes), row.sycl->device, row.sycl->context,
                        wanted.sycl_kind);
  } catch (const sycl::exception& error) {
    fail_allocation(nbytes, wanted, row, error.what());
  }
}

}  // namespace

const char* usm_kind_name(UsmKind kind) noexcept { return row_for(kind).name; }

UsmKind usm_kind_named(const char* name) {
  for (const KindRow& row : kinds) {
    if (row.kind != UsmKind::system && std::strcmp(row.name, name) == 0) return row.kind;
  }
  fail(Error::Kind::value, "usm_type is '", name, "'; it must be 'device', 'shared' or 'host'");
}

namespace {

// The queue to remember beside the row's: none when it is the same.
Queue apart_from(const Row* row, Queue queue) {
  if (row && queue && queue == row->queue()) return {};
  return queue;
}

const Queue& queue_of(const Queue& own_queue, const Row* row) {
  return own_queue || !row ? own_queue : row->queue();
}

// Whether this thread may ask queues whether they are idle.  In a thread of the runtime, where
// dpctl drops what a command has used, the question would be a deadlock: somebody may keep the
// queue locked who waits for the host task that runs there.
thread_local bool may_ask __attribute__((tls_model("initial-exec"))) = false;

void release_memory(void* memory) { delete static_cast<Memory*>(memory); }

// An owner may keep, by way of another library's object, a block of ours, whose owner keeps the
// next one: `t = as_tensor(t.to_numpy())` makes such chains of any length.  Releases that are
// nested this deep in a thread are left to its outermost one, as CPython's trashcan does with its
// containers, since a long chain would overflow the stack.
constexpr int deepest_release = 50;

struct LeftOwner {
  Owner owner;
  LeftOwner* next;
};
// On the heap, and not in the frame of the outermost release, whose stack a greenlet may swap out.
thread_local LeftOwner* left_owners = nullptr;
thread_local int release_depth = 0;

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

// On the heap; where there is no memory for that, the block is never freed.
std::shared_ptr<const void> share_block(HeldBlock block) noexcept {
  try {
    return std::make_shared<const HeldBlock>(std::move(block));
  } catch (...) {
    block.free_block = nullptr;
    (void)block.owner.release();
    return nullptr;
  }
}

}  // namespace

HeldBlock::HeldBlock(std::byte* data, std::size_t nbytes, std::size_t capacity, UsmKind kind,
                     const Row* row, Owner owner, Free free_block) noexcept
    : data(data),
      nbytes(nbytes),
      capacity(capacity),
      kind(kind),
      row(row),
      owner(std::move(owner)),
      free_block(free_block) {
  blocks_alive.fetch_add(1, std::memory_order_relaxed);
  if (row && row->use) row->use->block_begins();
}

HeldBlock::HeldBlock(HeldBlock&& other) noexcept
    : data(other.data),
      nbytes(other.nbytes),
      capacity(other.capacity),
      kind(other.kind),
      row(other.row),
      owner(std::move(other.owner)),
      free_block(std::exchange(other.free_block, nullptr)),
      is_held_(std::exchange(other.is_held_, false)) {}

HeldBlock::~HeldBlock() {
  if (free_block) free_block(*this);
  release_owner(std::move(owner));
  if (!is_held_) return;
  blocks_alive.fetch_sub(1, std::memory_order_relaxed);
  if (row && row->use) row->use->block_ends();
}

Allocation::Allocation(HeldBlock&& block, Queue own_queue)
    : own_queue_(apart_from(block.row, std::move(own_queue))),
      block_(std::move(block)),
      data(block_.data),
      nbytes(block_.nbytes),
      capacity(block_.capacity),
      kind(block_.kind),
      row(block_.row),
      queue(queue_of(own_queue_, row)) {}

Allocation::~Allocation() {
  if (!may_have_work() || (may_ask && is_idle())) return;
  const bool is_borrowed = !is_ours();
  free_after_work(queues(), share_block(std::move(block_)));
  if (!is_borrowed) return;
  // Its owner would like to have it back at once where nothing is pending after all.
  const WithoutGil released;
  settle_deferred_frees(std::chrono::milliseconds(20));
}

void this_thread_may_ask_queues() noexcept { may_ask = true; }

Owner keep_memory(Memory memory) { return {new Memory(std::move(memory)), release_memory}; }

void* Allocation::owner_released_by(void (*release)(void*)) const noexcept {
  void* const owner = block_.owner.get();
  if (block_.owner.get_deleter() == release) return owner;
  if (!owner || block_.owner.get_deleter() != release_memory) return nullptr;
  const Memory& kept = *static_cast<const Memory*>(owner);
  return kept.use_count() == 1 ? kept->owner_released_by(release) : nullptr;
}

QueueSet Allocation::queues() const noexcept {
  QueueSet set;
  if (own_queue_) set.add(own_queue_);
  if (!row) return set;
  if (const Queue* const made = row->made_queue()) set.add(*made);
  if (row->kind == RowKind::sub_device && row->default_context) {
    if (const Queue* const made = find_row(row->root_id)->made_queue()) set.add(*made);
  }
  return set;
}

bool Allocation::is_idle() const noexcept {
  // The threads that free and wait in the background submit markers.
  const bool only_thread =
      is_only_python_thread() && deferred_frees() == 0 && interrupted_waits() == 0;
  const WithoutGil released;
  const QueueSet all = queues();
  return std::all_of(all.begin(), all.end(),
                     [=](const Queue* queue) { return queue->is_idle(only_thread); });
}

bool Allocation::may_have_work() const noexcept {
  for (const Queue* one : queues()) {
    if (one->may_have_work()) return true;
  }
  return false;
}

namespace {

// A block of `size` bytes, for `nbytes` of them.  Where there is no room, what is kept is given
// back first.
Block take_fresh_usm(std::size_t size, std::size_t nbytes, const KindRow& wanted, const Row& row) {
  Block block{fresh_usm(size, wanted, row), size};
  if (!block.data) {
    release_cached_memory();
    block.data = fresh_usm(size, wanted, row);
  }
  // What is missing may be in blocks that are freed when the work on them is done.
  const auto end = std::chrono::steady_clock::now() + longest_wait_for_room;
  while (!block.data && may_wait_for_deferred_frees() && std::chrono::steady_clock::now() < end) {
    const WithoutGil released;
    wait_interruptibly([] { wait_for_deferred_free(longest_wait_for_room); });
    release_cached_memory();
    block.data = fresh_usm(size, wanted, row);
  }
  if (!block.data) fail_allocation(nbytes, wanted, row, "the runtime has no memory left");
  return block;
}

Memory own_usm(Block block, std::size_t nbytes, UsmKind kind, const Row& row, Queue queue,
               HeldBlock::Free free_block) {
  try {
    return own(block, nbytes, kind, &row, std::move(queue), free_block);
  } catch (...) {
    if (block.data) free_usm(block.data, row);
    throw;
  }
}

}  // namespace

Memory allocate(const Row& row, UsmKind kind, std::size_t nbytes, Queue queue) {
  const KindRow& wanted = row_for(kind);
  require_usm(row, row.*wanted.aspect, wanted.name);
  require_not_forked([&row] { return is_cpu(row); });
  if (row.use && many_contexts_may_be_dropped()) {
    drain_pools_later(look_at_private_contexts(0).dropped);
  }
  Block block{nullptr, 0};
  if (nbytes > 0) {
    block = take_kept(nbytes, pool_of(row, kind), large_pool_of(row, kind));
    if (!block.data) block = take_fresh_usm(BlockPool::rounded(nbytes), nbytes, wanted, row);
  }
  return own_usm(block, nbytes, kind, row, std::move(queue), give_back_usm);
}

Memory allocate_dedicated(const Row& row, std::size_t nbytes, Queue queue) {
  // The smallest multiple of Level Zero's page size that is more than the adapters pool.
  constexpr std::size_t page = std::size_t{64} << 10, least = (std::size_t{4} << 20) + page;
  const KindRow& wanted = row_for(UsmKind::device);
  require_usm(row, row.usm_device, wanted.name);
  require_not_forked([&row] { return is_cpu(row); });
  Block block{nullptr, 0};
  if (nbytes > 0) block = take_fresh_usm(std::max(nbytes, least), nbytes, wanted, row);
  return own_usm(block, nbytes, UsmKind::device, row, std::move(queue), give_back_dedicated);
}

bool is_dedicated(const Allocation& block) noexcept {
  return block.is_freed_by(give_back_dedicated);
}

Memory allocate_host(std::size_t nbytes) {
  if (nbytes == 0) return own({nullptr, 0}, 0, UsmKind::system, nullptr, {}, give_back_host);
  const Block block = take_host_block(nbytes);
  try {
    return own(block, nbytes, UsmKind::system, nullptr, {}, give_back_host);
  } catch (...) {
    std::free(block.data);
    throw;
  }
}

long live_allocations() noexcept { return blocks_alive.load(std::memory_order_relaxed); }

std::vector<CachedMemory> cached_memory() {
  std::vector<CachedMemory> found;
  const auto add = [&found](const Row* row, UsmKind kind, std::size_t nbytes) {
    if (nbytes > 0) found.push_back({row, kind, nbytes});
  };
  add(nullptr, UsmKind::system, host_pool().kept() + large_host_pool().kept());
  for (int id = 0; id < rows_so_far(); ++id) {
    const Row& row = *find_row(id);
    if (!row.made_pools()) continue;
    for (const UsmKind kind : {UsmKind::device, UsmKind::shared, UsmKind::host}) {
      LargeBlockPool* const large = large_pool_of(row, kind);
      add(&row, kind, pool_of(row, kind).kept() + (large ? large->kept() : 0));
    }
  }
  return found;
}

void release_cached_memory() noexcept {
  // What is freed comes back to where we take from; an interrupted copy holds blocks that follow
  // it.
  for (int round = 0; round < 2; ++round) settle_deferred_frees(std::chrono::milliseconds(100));
  host_pool().drain([](void* block) { std::free(block); });
  for (const auto& block : large_host_pool().drain()) std::free(block.data);
  for (int id = 0; id < rows_so_far(); ++id) {
    drain_pools(*find_row(id));
  }
}

Memory borrow(void* data, std::size_t nbytes, UsmKind kind, const Row* row, Queue queue,
              Owner owner) {
  return std::make_shared<const Allocation>(HeldBlock(static_cast<std::byte*>(data), nbytes, nbytes,
                                                      kind, row, std::move(owner), nullptr),
                                            std::move(queue));
}

PrivateBlock::PrivateBlock(const void* data, std::size_t nbytes, const Row* row)
    : data_(data),
      nbytes_(nbytes),
      row_(row && !row->default_context && nbytes > 0 ? row : nullptr) {
  if (row_) private_blocks().add(data_, nbytes_, row_);
}

PrivateBlock::~PrivateBlock() {
  if (row_) private_blocks().remove(data_, nbytes_, row_);
}

bool classify(const void* pointer, const Row& row, UsmKind* kind) noexcept {
  // A device without USM makes the runtime throw here, at some cost.
  if (!row.usm_device && !row.usm_shared && !row.usm_host) return false;
  try {
    const sycl::usm::alloc found = sycl::get_pointer_type(pointer, row.sycl->context);
    for (const KindRow& candidate : kinds) {
      if (candidate.sycl_kind == found && candidate.kind != UsmKind::system) {
        *kind = candidate.kind;
        remember(pointer, row);
        return true;
      }
    }
  } catch (...) {  // the runtime does not know: the same as "no"
  }
  return false;
}

const Row* find_owner(const void* pointer, UsmKind* kind, Search search) {
  const std::size_t defaults = default_context_count();  // raises: there is no table to be had
  try {
    const Row* const ours = private_blocks().find(pointer);
    if (ours && classify(pointer, *ours, kind)) return &owning_row(pointer, *ours, *kind);
    const std::optional<std::uint32_t> hint = seen().find(pointer);
    const Row* const last = hint && *hint < nobodys ? find_row(static_cast<int>(*hint)) : nullptr;
    const bool may_be_last = last && (!last->use || last->use->is_in_use());
    if (may_be_last && classify(pointer, *last, kind)) return &owning_row(pointer, *last, *kind);
    for (std::size_t number = 0; number < defaults; ++number) {
      const Row& row = first_row_of_default_context(number);
      if (classify(pointer, row, kind)) return &owning_row(pointer, row, *kind);
    }
    const bool quick = search == Search::quick && private_contexts_in_use() > always_asked;
    const std::uint32_t asked = quick && hint && *hint >= nobodys ? *hint - nobodys : 0;
    const PrivateContexts others = look_at_private_contexts(asked);
    drain_pools_later(others.dropped);
    for (const ContextEntry* entry : others.in_use) {
      const Row& row = static_cast<const Row&>(*entry);
      if (row.driver_wide || !classify(pointer, row, kind)) continue;
      return &owning_row(pointer, row, *kind);
    }
    seen().put(pointer, nobodys + others.end);
  } catch (...) {  // nobody that we could name
  }
  return nullptr;
}

std::string describe_owner(const void* pointer) {
  UsmKind kind;
  const Row* const row = find_owner(pointer, &kind, Search::thorough);
  if (!row) return "it is plain host memory, or USM of a context that is not registered";
  const char* const context = row->default_context ? "default" : "private";
  return std::string("it is '") + usm_kind_name(kind) + "' USM of the " + context +
         " context of device (14, " + std::to_string(row->id) + ")";
}

namespace {

sycl::device device_of(const void* pointer, const sycl::context& context) {
  try {
    return sycl::get_pointer_device(pointer, context);
  } catch (const sycl::exception&) {
    meet_unlisted_devices();
    return sycl::get_pointer_device(pointer, context);
  }
}

}  // namespace

const Row& allocating_row(const void* pointer, const Row& row) {
  if (row.single_device) return row;
  return sycl_call("asking for the device of a pointer", [&]() -> const Row& {
    const sycl::device device = device_of(pointer, row.sycl->context);
    return device == row.sycl->device ? row : row_of(&device, &row.sycl->context);
  });
}

const Row& row_in_context(const void* pointer, const void* context) {
  const auto& handle = *static_cast<const sycl::context*>(context);
  const sycl::device device = [&] {
    try {
      const auto devices = handle.get_devices();
      if (devices.size() == 1 || !pointer) return devices.front();
      return device_of(pointer, handle);
    } catch (const sycl::exception& error) {
      fail(Error::Kind::buffer, "the pointer ", pointer,
           " is not USM of the context that came with it (", error.what(), "); ",
           describe_owner(pointer), "; pass the context or queue that it was allocated with");
    }
  }();
  return row_of(&device, context);
}

bool host_accessible(UsmKind kind, const Row* row) noexcept {
  switch (kind) {
    case UsmKind::device:
      return row && row->host_memory;
    case UsmKind::shared:
    case UsmKind::host:
    case UsmKind::system:
      return true;
  }
  return false;
}

}  // namespace sycl_ext
