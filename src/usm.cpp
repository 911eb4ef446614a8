// SPDX-License-Identifier: Apache-2.0
#include "usm.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>

#if defined(__linux__)
#include <sys/mman.h>
#endif

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

std::atomic<long> allocations_alive{0};

void keep(void*) {}

// Never destroyed: a block may come back after the static destructors.
BlockPool& host_pool() {
  static BlockPool* const pool = new BlockPool;
  return *pool;
}

BlockPool& pool_of(const Row& row, UsmKind kind) noexcept {
  return row.pools[static_cast<std::size_t>(kind)];
}

void free_usm(void* block, const Row& row) noexcept {
  try {
    sycl::free(block, row.sycl->context);
  } catch (...) {  // a deleter never raises; the block is lost
  }
}

void give_back_usm(const Allocation& block) noexcept {
  if (!block.data) return;
  if (BlockPool::serves(block.nbytes) &&
      pool_of(*block.row, block.kind).keep(block.data, block.nbytes)) {
    return;
  }
  free_usm(block.data, *block.row);
}

LargeBlockPool& large_host_pool() {
  static LargeBlockPool* const pool = new LargeBlockPool;
  return *pool;
}

void give_back_host(const Allocation& block) noexcept {
  if (!block.data) return;
  if (BlockPool::serves(block.nbytes)) {
    if (!host_pool().keep(block.data, block.nbytes)) std::free(block.data);
    return;
  }
  try {
    for (const auto& gone : large_host_pool().keep({block.data, block.nbytes})) {
      std::free(gone.data);
    }
  } catch (...) {  // no memory to remember the block with
    std::free(block.data);
  }
}

// Page-aligned memory for at least `nbytes`, from the pools or fresh.
void* take_host_block(std::size_t nbytes) {
  constexpr std::size_t page = 4096, huge_page = std::size_t{2} << 20;
  void* block =
      BlockPool::serves(nbytes) ? host_pool().take(nbytes) : large_host_pool().take(nbytes).data;
  if (block) return block;
  const bool large = nbytes >= 2 * huge_page;
  if (posix_memalign(&block, large ? huge_page : page, BlockPool::rounded(nbytes)) != 0) {
    fail(Error::Kind::memory, "cannot allocate ", nbytes, " bytes of host memory");
  }
#if defined(MADV_HUGEPAGE)
  // Touching fresh memory page by page costs as much as the copy into it.
  if (large) madvise(block, nbytes, MADV_HUGEPAGE);
#endif
  return block;
}

Memory own(void* data, std::size_t nbytes, UsmKind kind, const Row* row, Queue queue,
           Allocation::Free free_block) {
  if (row && !queue) queue = row->queue();
  return std::make_shared<const Allocation>(static_cast<std::byte*>(data), nbytes, kind, row,
                                            std::move(queue), Owner(nullptr, keep), free_block);
}

[[noreturn]] void fail_allocation(std::size_t nbytes, const KindRow& kind, const Row& row,
                                  const char* reason) {
  fail(Error::Kind::memory, "cannot allocate ", nbytes, " bytes of '", kind.name,
       "' USM on device ", row.id, " ('", row.name, "'): ", reason,
       "; free other tensors, or take a smaller block or another usm_type");
}

}  // namespace

const char* usm_kind_name(UsmKind kind) noexcept { return row_for(kind).name; }

UsmKind usm_kind_named(const char* name) {
  for (const KindRow& row : kinds) {
    if (row.kind != UsmKind::system && std::strcmp(row.name, name) == 0) return row.kind;
  }
  fail(Error::Kind::value, "usm_type is '", name, "'; it must be 'device', 'shared' or 'host'");
}

Allocation::Allocation(std::byte* data, std::size_t nbytes, UsmKind kind, const Row* row,
                       Queue queue, Owner owner, Free free_block) noexcept
    : data(data),
      nbytes(nbytes),
      kind(kind),
      row(row),
      queue(std::move(queue)),
      owner_(std::move(owner)),
      free_block_(free_block) {
  allocations_alive.fetch_add(1, std::memory_order_relaxed);
}

Allocation::~Allocation() {
  if (queue) queue.wait_noexcept();
  if (free_block_) free_block_(*this);
  allocations_alive.fetch_sub(1, std::memory_order_relaxed);
}

Memory allocate(const Row& row, UsmKind kind, std::size_t nbytes, Queue queue) {
  const KindRow& wanted = row_for(kind);
  require_usm(row, row.*wanted.aspect, wanted.name);
  if (nbytes == 0) return own(nullptr, 0, kind, &row, std::move(queue), give_back_usm);
  void* block = BlockPool::serves(nbytes) ? pool_of(row, kind).take(nbytes) : nullptr;
  if (!block) {
    try {
      block = sycl::malloc(BlockPool::rounded(nbytes), row.sycl->device, row.sycl->context,
                           wanted.sycl_kind);
    } catch (const sycl::exception& error) {
      fail_allocation(nbytes, wanted, row, error.what());
    }
  }
  if (!block) fail_allocation(nbytes, wanted, row, "the runtime has no memory left");
  try {
    return own(block, nbytes, kind, &row, std::move(queue), give_back_usm);
  } catch (...) {
    free_usm(block, row);
    throw;
  }
}

Memory allocate_host(std::size_t nbytes) {
  if (nbytes == 0) return own(nullptr, 0, UsmKind::system, nullptr, {}, give_back_host);
  void* block = take_host_block(nbytes);
  try {
    return own(block, nbytes, UsmKind::system, nullptr, {}, give_back_host);
  } catch (...) {
    std::free(block);
    throw;
  }
}

long live_allocations() noexcept { return allocations_alive.load(std::memory_order_relaxed); }

void release_cached_memory() noexcept {
  host_pool().drain([](void* block) { std::free(block); });
  for (const auto& block : large_host_pool().drain()) std::free(block.data);
  for (int id = 0; id < row_count(); ++id) {
    const Row& row = *find_row(id);
    for (BlockPool& pool : row.pools) {
      pool.drain([&row](void* block) { free_usm(block, row); });
    }
  }
}

Memory borrow(void* data, std::size_t nbytes, UsmKind kind, const Row* row, Queue queue,
              Owner owner) {
  if (row && !queue) queue = row->queue();
  return std::make_shared<const Allocation>(static_cast<std::byte*>(data), nbytes, kind, row,
                                            std::move(queue), std::move(owner), nullptr);
}

bool classify(const void* pointer, const Row& row, UsmKind* kind) noexcept {
  // A device without USM makes the runtime throw here, at some cost.
  if (!row.usm_device && !row.usm_shared && !row.usm_host) return false;
  try {
    const sycl::usm::alloc found = sycl::get_pointer_type(pointer, row.sycl->context);
    for (const KindRow& candidate : kinds) {
      if (candidate.sycl_kind == found && candidate.kind != UsmKind::system) {
        *kind = candidate.kind;
        return true;
      }
    }
  } catch (...) {  // the runtime does not know: the same as "no"
  }
  return false;
}

const Row* find_owner(const void* pointer, UsmKind* kind) noexcept {
  for (int id = 0; id < root_count(); ++id) {
    const Row* row = find_row(id);
    if (!classify(pointer, *row, kind)) continue;
    // Several roots may share one default context: the allocating device decides.
    try {
      if (*kind == UsmKind::host) return row;
      return find_row(allocating_row(pointer, *row).root_id);
    } catch (...) {
      return row;
    }
  }
  return nullptr;
}

const Row& allocating_row(const void* pointer, const Row& row) {
  if (row.single_device) return row;
  return sycl_call("asking for the device of a pointer", [&]() -> const Row& {
    const sycl::device device = sycl::get_pointer_device(pointer, row.sycl->context);
    return device == row.sycl->device ? row : row_of(&device, &row.sycl->context);
  });
}

const Row& row_in_context(const void* pointer, const void* context) {
  const auto& handle = *static_cast<const sycl::context*>(context);
  const sycl::device device = [&] {
    try {
      const auto devices = handle.get_devices();
      return devices.size() == 1 ? devices.front() : sycl::get_pointer_device(pointer, handle);
    } catch (const sycl::exception& error) {
      fail(Error::Kind::buffer, "the pointer ", pointer,
           " is not USM of the context that came with it: ", error.what());
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
