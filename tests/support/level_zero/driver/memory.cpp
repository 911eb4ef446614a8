#include "memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "faults.hpp"
#include "list.hpp"
#include "settings.hpp"

namespace stand_in {
namespace {

constexpr std::size_t kPage = 4096;
// Intel's driver aligns to 64 KiB or 2 MiB, and UMF relies on the smaller one.
constexpr std::size_t kAlignment = 64 << 10;

// Errors that a GPU would not report.
[[noreturn]] void corrupted(const char* what, const Block& block) {
  std::fprintf(stderr, "stand-in driver: %s (%zu bytes at %p)\n", what, block.size,
               static_cast<void*>(block.base));
  std::abort();
}

// Address space, aligned: where such a block was freed last if that is free, as the heaps of a
// driver hand out an address again.
char* reserve(std::size_t size, std::size_t align, char* freed) {
  if (freed && reinterpret_cast<std::uintptr_t>(freed) % align == 0) {
    void* again = mmap(freed, size, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (again == freed) return freed;
    if (again != MAP_FAILED) munmap(again, size);
  }
  const std::size_t room = size + align;
  void* start = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  char* const begin = static_cast<char*>(start);
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  char* const base = begin + ((address + align - 1) / align * align - address);
  if (base > begin) munmap(begin, static_cast<std::size_t>(base - begin));
  const auto behind = static_cast<std::size_t>(begin + room - (base + size));
  if (behind) munmap(base + size, behind);
  return base;
}

}  // namespace

Block::~Block() {
  if (!mapped) return;
  if (is_virtual) {  // the address space stays reserved
    mmap(bytes, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    return;
  }
  if (base) munmap(base, mapped);
  if (bytes && bytes != base) munmap(bytes, mapped);
  if (file >= 0) close(file);
}

Place::Place(const void* pointer, std::size_t nbytes)
    : bytes_(static_cast<char*>(const_cast<void*>(pointer))) {
  const std::shared_ptr<Block> block = memory().around(pointer);
  if (!block) return;  // memory of the program's, which is its own affair
  const auto offset = static_cast<std::size_t>(bytes_ - block->base);
  // A command may go from one mapping to the next; unmapped memory is a fault.
  if (!block->is_virtual && nbytes > block->size - offset)
    corrupted("a command beyond the end of a block", *block);
  ++block->commands;
  use_ = std::shared_ptr<void>(nullptr, [block](void*) { --block->commands; });
  bytes_ = block->bytes + offset;
}

ze_result_t Memory::map(std::shared_ptr<Block> block, std::size_t align, void** out) {
  const bool hidden = block->type == ZE_MEMORY_TYPE_DEVICE;
  const int access = PROT_READ | PROT_WRITE;
  block->base = reserve(block->mapped, std::max(align, kAlignment), freed_[block->mapped]);
  if (!block->base) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  block->bytes = block->base;
  if (mmap(block->base, block->mapped, hidden ? PROT_NONE : access, MAP_SHARED | MAP_FIXED,
           block->file, 0) == MAP_FAILED)
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  if (hidden) {
    void* const bytes = mmap(nullptr, block->mapped, access, MAP_SHARED, block->file, 0);
    if (bytes == MAP_FAILED) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    block->bytes = static_cast<char*>(bytes);
  }
  block->id = next_id_++;
  *out = block->base;
  blocks_[block->base] = std::move(block);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Memory::allocate(ze_memory_type_t type, Device* device, std::size_t size,
                             std::size_t align, bool above_limits, void** out) {
  *out = nullptr;
  if (faults().lost) return ZE_RESULT_ERROR_DEVICE_LOST;
  if (faults().now()) return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  if (size == 0 || (size > settings().memory && !above_limits))
    return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
  if (type == ZE_MEMORY_TYPE_HOST && --faults().host_allocations_left < 0)
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  auto block = std::make_shared<Block>();
  block->type = type;
  block->device = device;
  block->size = size;
  block->mapped = (size + kPage - 1) / kPage * kPage;
  std::lock_guard<std::mutex> lock(mutex_);
  const bool counted = type == ZE_MEMORY_TYPE_DEVICE;
  if (counted && used_[device->card] + block->mapped > settings().memory)
    return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  block->file = memfd_create("level_zero_stand_in", MFD_CLOEXEC);
  if (block->file < 0) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  if (ftruncate(block->file, static_cast<off_t>(block->mapped)) != 0)
    return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  const std::size_t mapped = block->mapped;
  const ze_result_t result = map(std::move(block), align, out);
  if (result == ZE_RESULT_SUCCESS && counted) used_[device->card] += mapped;
  return result;
}

ze_result_t Memory::open(Device* device, int file, std::size_t size, void** out) {
  *out = nullptr;
  auto block = std::make_shared<Block>();
  block->type = ZE_MEMORY_TYPE_DEVICE;
  block->device = device;
  block->size = size;
  block->mapped = (size + kPage - 1) / kPage * kPage;
  block->file = file;
  block->opened = true;
  std::lock_guard<std::mutex> lock(mutex_);
  return map(std::move(block), 0, out);
}

ze_result_t Memory::free(const void* pointer) {
  std::lock_guard<std::mutex> lock(mutex_);
  // Intel's driver takes any address of the block.
  const std::shared_ptr<Block> block = find(pointer);
  if (!block || block->type == ZE_MEMORY_TYPE_HOST_IMPORTED)
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  if (block->commands > 0)
    corrupted("memory was freed before a command that uses it was done", *block);
  if (block->type == ZE_MEMORY_TYPE_DEVICE && !block->opened && !block->is_virtual)
    used_[block->device->card] -= block->mapped;
  if (!block->is_virtual && block->mapped) freed_[block->mapped] = block->base;
  blocks_.erase(block->base);
  return ZE_RESULT_SUCCESS;
}

void Memory::place(const void* pointer, std::size_t size, Device* device, char* bytes) {
  auto block = std::make_shared<Block>();
  block->type = ZE_MEMORY_TYPE_UNKNOWN;
  block->device = device;
  block->base = static_cast<char*>(const_cast<void*>(pointer));
  block->bytes = bytes;
  block->size = block->mapped = size;
  block->is_virtual = true;
  std::lock_guard<std::mutex> lock(mutex_);
  block->id = next_id_++;
  blocks_[block->base] = std::move(block);
}

// As compute-runtime's HostPointerManager: each byte once, without counting; a release of any part
// releases all of the import.
ze_result_t Memory::import(void* pointer, std::size_t size, ze_memory_type_t type) {
  if (faults().now()) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  auto block = std::make_shared<Block>();
  block->type = type;
  block->base = block->bytes = static_cast<char*>(pointer);
  block->size = size;
  std::lock_guard<std::mutex> lock(mutex_);
  const std::shared_ptr<Block> first = find(pointer), last = find(block->base + size - 1);
  if (first || last) return first == last ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_OVERLAPPING_REGIONS;
  block->id = next_id_++;
  ++faults().imports;
  blocks_[block->base] = std::move(block);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Memory::release(void* pointer) {
  std::lock_guard<std::mutex> lock(mutex_);
  const std::shared_ptr<Block> block = find(pointer);
  if (!block || block->type != ZE_MEMORY_TYPE_HOST_IMPORTED)
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  if (block->commands > 0) corrupted("an import was released under a command", *block);
  blocks_.erase(block->base);
  return ZE_RESULT_SUCCESS;
}

std::shared_ptr<Block> Memory::around(const void* pointer) {
  std::lock_guard<std::mutex> lock(mutex_);
  return find(pointer);
}

std::shared_ptr<Block> Memory::find(const void* pointer) {
  const char* const address = static_cast<const char*>(pointer);
  const auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return nullptr;
  const std::shared_ptr<Block>& block = std::prev(after)->second;
  return address < block->base + block->size ? block : nullptr;
}

long Memory::blocks() {
  std::lock_guard<std::mutex> lock(mutex_);
  return std::count_if(blocks_.begin(), blocks_.end(),
                       [](const auto& entry) { return entry.second->mapped != 0; });
}

long Memory::imported() {
  std::lock_guard<std::mutex> lock(mutex_);
  return std::count_if(blocks_.begin(), blocks_.end(), [](const auto& entry) {
    return entry.second->type == ZE_MEMORY_TYPE_HOST_IMPORTED;
  });
}

long Memory::opened() {
  std::lock_guard<std::mutex> lock(mutex_);
  return std::count_if(blocks_.begin(), blocks_.end(),
                       [](const auto& entry) { return entry.second->opened; });
}

long Memory::device_bytes() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::size_t sum = 0;
  for (const auto& entry : used_) sum += entry.second;
  return static_cast<long>(sum);
}

std::size_t Memory::used_on(int card) {
  std::lock_guard<std::mutex> lock(mutex_);
  return used_[card];
}

Memory& memory() {
  static auto* only = new Memory;
  return *only;
}

}  // namespace stand_in

using namespace stand_in;

// Whether a program asks for more than the largest allocation of the device, and means it.
static bool is_above_limits(const void* description) {
  for (auto* next = static_cast<const ze_base_desc_t*>(description); next; next = next->pNext) {
    if (next->stype == ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC) return true;
  }
  return false;
}

ZE_API ze_result_t zeMemAllocDevice(ze_context_handle_t, const ze_device_mem_alloc_desc_t* desc,
                                    std::size_t size, std::size_t align, ze_device_handle_t device,
                                    void** out) {
  return memory().allocate(ZE_MEMORY_TYPE_DEVICE, &of<Device>(device), size, align,
                           is_above_limits(desc), out);
}

ZE_API ze_result_t zeMemAllocShared(ze_context_handle_t, const ze_device_mem_alloc_desc_t* desc,
                                    const ze_host_mem_alloc_desc_t*, std::size_t size,
                                    std::size_t align, ze_device_handle_t device, void** out) {
  Device* const owner = device ? &of<Device>(device) : nullptr;
  return memory().allocate(ZE_MEMORY_TYPE_SHARED, owner, size, align, is_above_limits(desc), out);
}

ZE_API ze_result_t zeMemAllocHost(ze_context_handle_t, const ze_host_mem_alloc_desc_t* desc,
                                  std::size_t size, std::size_t align, void** out) {
  for (const ze_base_desc_t* next = desc->pNext; next; next = next->pNext) {
    if (next->stype != ZE_STRUCTURE_TYPE_EXTERNAL_MEMMAP_SYSMEM_EXT_DESC) continue;
    *out = static_cast<const ze_external_memmap_sysmem_ext_desc_t*>(next)->pSystemMemory;
    return memory().import(*out, size, ZE_MEMORY_TYPE_HOST);
  }
  return memory().allocate(ZE_MEMORY_TYPE_HOST, nullptr, size, align, is_above_limits(desc), out);
}

ZE_API ze_result_t zeMemFree(ze_context_handle_t, void* pointer) { return memory().free(pointer); }

// BLOCKING_FREE, which the adapters ask for, would wait for what uses the block; here a block in
// use ends the process, since a pool above may have handed it to somebody else.
ZE_API ze_result_t zeMemFreeExt(ze_context_handle_t, const ze_memory_free_ext_desc_t*,
                                void* pointer) {
  return memory().free(pointer);
}

// As in compute-runtime: one list of allocations for the driver, whatever the context.
ZE_API ze_result_t zeMemGetAllocProperties(ze_context_handle_t, const void* pointer,
                                           ze_memory_allocation_properties_t* p,
                                           ze_device_handle_t* device) {
  const std::shared_ptr<Block> block = memory().around(pointer);
  p->type = block ? block->type : ZE_MEMORY_TYPE_UNKNOWN;
  if (!block) return ZE_RESULT_SUCCESS;
  p->id = block->id;
  p->pageSize = block->type == ZE_MEMORY_TYPE_HOST ? 4096 : kAlignment;
  if (device) *device = handle_of<ze_device_handle_t>(block->device);
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeMemGetAddressRange(ze_context_handle_t, const void* pointer, void** base,
                                        std::size_t* size) {
  const std::shared_ptr<Block> block = memory().around(pointer);
  if (!block) return ZE_RESULT_ERROR_ADDRESS_NOT_FOUND;
  if (base) *base = block->base;
  if (size) *size = block->size;
  return ZE_RESULT_SUCCESS;
}
