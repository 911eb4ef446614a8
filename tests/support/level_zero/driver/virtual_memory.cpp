// Address space that is reserved, memory of a card without an address, and the mapping of one to
// the other.  As in compute-runtime, an access attribute is that of a whole reservation, and not of
// the pages in it that are mapped; and drivers before 2025 know no type of such memory.
#include <sys/mman.h>
#include <unistd.h>

#include <iterator>
#include <map>
#include <mutex>

#include "faults.hpp"
#include "handle.hpp"
#include "memory.hpp"
#include "spec.hpp"

using namespace stand_in;

namespace {

constexpr std::size_t kPage = 64 << 10;

struct Reservation {
  std::size_t size;
  char* bytes;  // where commands read and write mapped memory
  ze_memory_access_attribute_t access;
};

struct Physical : Object {
  Device* device;
  std::size_t size;
  int file;
};

std::mutex& mutex = *new std::mutex;
std::map<const char*, Reservation>& reservations = *new std::map<const char*, Reservation>;

// The reservation that has all of the range, and where that begins in it; null: none.  The caller
// holds the lock.
Reservation* around(const void* pointer, std::size_t size, std::size_t* offset = nullptr) {
  const char* const begin = static_cast<const char*>(pointer);
  const auto after = reservations.upper_bound(begin);
  if (after == reservations.begin()) return nullptr;
  auto& [first, range] = *std::prev(after);
  if (begin + size > first + range.size) return nullptr;
  if (offset) *offset = static_cast<std::size_t>(begin - first);
  return &range;
}

}  // namespace

ZE_API ze_result_t zeVirtualMemQueryPageSize(ze_context_handle_t, ze_device_handle_t, std::size_t,
                                             std::size_t* page) {
  *page = kPage;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeVirtualMemReserve(ze_context_handle_t, const void*, std::size_t size,
                                       void** out) {
  const auto reserved = [size]() -> char* {
    void* const start =
        mmap(nullptr, size + kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return nullptr;
    const auto address = reinterpret_cast<std::uintptr_t>(start);
    return reinterpret_cast<char*>((address + kPage - 1) / kPage * kPage);
  };
  char *const base = reserved(), *const bytes = reserved();
  if (!base || !bytes) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  *out = base;
  const std::lock_guard<std::mutex> lock(mutex);
  reservations[base] = {size, bytes, ZE_MEMORY_ACCESS_ATTRIBUTE_NONE};
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeVirtualMemFree(ze_context_handle_t, const void* pointer, std::size_t) {
  const std::lock_guard<std::mutex> lock(mutex);  // the address space itself stays taken
  return reservations.erase(static_cast<const char*>(pointer)) ? ZE_RESULT_SUCCESS
                                                               : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

ZE_API ze_result_t zePhysicalMemCreate(ze_context_handle_t, ze_device_handle_t device,
                                       ze_physical_mem_desc_t* desc,
                                       ze_physical_mem_handle_t* out) {
  if (faults().now()) return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  if (desc->size % kPage) return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
  const int file = memfd_create("level_zero_stand_in", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(desc->size)) != 0)
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  auto* const made = new Physical;
  made->device = &of<Device>(device);
  made->size = desc->size;
  made->file = file;
  *out = handle_of<ze_physical_mem_handle_t>(made);
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zePhysicalMemDestroy(ze_context_handle_t, ze_physical_mem_handle_t handle) {
  Physical& gone = of<Physical>(handle);
  close(gone.file);
  delete &gone;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeVirtualMemMap(ze_context_handle_t, const void* pointer, std::size_t size,
                                   ze_physical_mem_handle_t handle, std::size_t offset,
                                   ze_memory_access_attribute_t access) {
  const Physical& physical = of<Physical>(handle);
  if (size % kPage || offset + size > physical.size) return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
  const std::lock_guard<std::mutex> lock(mutex);
  std::size_t at = 0;
  Reservation* const reserved = around(pointer, size, &at);
  if (!reserved) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  char* const bytes = reserved->bytes + at;
  if (mmap(bytes, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, physical.file,
           static_cast<off_t>(offset)) == MAP_FAILED)
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  reserved->access = access;
  memory().place(pointer, size, physical.device, bytes);
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeVirtualMemUnmap(ze_context_handle_t, const void* pointer, std::size_t) {
  return memory().free(pointer);
}

ZE_API ze_result_t zeVirtualMemSetAccessAttribute(ze_context_handle_t, const void* pointer,
                                                  std::size_t size,
                                                  ze_memory_access_attribute_t access) {
  const std::lock_guard<std::mutex> lock(mutex);
  Reservation* const reserved = around(pointer, size);
  if (!reserved) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  reserved->access = access;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeVirtualMemGetAccessAttribute(ze_context_handle_t, const void* pointer,
                                                  std::size_t size,
                                                  ze_memory_access_attribute_t* access,
                                                  std::size_t* out_size) {
  const std::lock_guard<std::mutex> lock(mutex);
  const Reservation* const reserved = around(pointer, size);
  if (!reserved) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  *access = reserved->access;
  *out_size = reserved->size;
  return ZE_RESULT_SUCCESS;
}
