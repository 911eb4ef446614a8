// Entry points of USM and of its inter-process handles, and the register of what is allocated.
#include "memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "answer.hpp"
#include "control.hpp"
#include "settings.hpp"

namespace fakegpu {
namespace {

using AllocationPtr = std::shared_ptr<Allocation>;

// Never destroyed: programs free USM while the process ends.
struct Register {
  std::mutex mutex;
  std::map<const char*, AllocationPtr> by_address;
};

Register& allocations() {
  static auto* all = new Register;
  return *all;
}

AllocationPtr find(const void* pointer) {
  const auto* address = static_cast<const char*>(pointer);
  Register& all = allocations();
  std::lock_guard<std::mutex> lock(all.mutex);
  auto after = all.by_address.upper_bound(address);
  if (after == all.by_address.begin()) return nullptr;
  const AllocationPtr& allocation = std::prev(after)->second;
  return address < allocation->address + allocation->nbytes ? allocation : nullptr;
}

// On OpenCL a context knows its own allocations only; Level Zero's driver knows them all.
bool is_known_in(const Allocation& allocation, ur_context_handle_t context) {
  return !settings().strict_context || allocation.context.get() == context;
}

// On OpenCL an allocation of a tile in a context that lists the GPU belongs to the GPU.
ur_device_handle_t owner(const Allocation& allocation) {
  ur_device_handle_t device = allocation.device;
  if (device && settings().strict_context && allocation.context->lists(device->root()))
    return device->root();
  return device;
}

char* map_anonymous(size_t nbytes) {
  void* p = mmap(nullptr, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return p == MAP_FAILED ? nullptr : static_cast<char*>(p);
}

char* map_shared(int file, size_t nbytes, int protection) {
  void* p = mmap(nullptr, nbytes, protection, MAP_SHARED, file, 0);
  return p == MAP_FAILED ? nullptr : static_cast<char*>(p);
}

// Maps the file of an allocation.
bool map_twice(Allocation& allocation) {
  const size_t nbytes = allocation.mapped_nbytes;
  allocation.address = map_shared(allocation.file, nbytes, PROT_NONE);
  allocation.bytes = map_shared(allocation.file, nbytes, PROT_READ | PROT_WRITE);
  return allocation.address && allocation.bytes;
}

bool make_device_memory(Allocation& allocation) {
  allocation.file = memfd_create("fakegpu", MFD_CLOEXEC);
  return allocation.file >= 0 &&
         ftruncate(allocation.file, static_cast<off_t>(allocation.mapped_nbytes)) == 0 &&
         map_twice(allocation);
}

bool map_once(Allocation& allocation) {
  allocation.address = allocation.bytes = map_anonymous(allocation.mapped_nbytes);
  return allocation.address != nullptr;
}

// Takes device memory of a GPU, if it has as much left.
bool reserve(ur_device_handle_t gpu, size_t nbytes) {
  if (gpu->bytes_in_use.fetch_add(nbytes) + nbytes > settings().memory) {
    gpu->bytes_in_use -= nbytes;
    return false;
  }
  counters.device_bytes += static_cast<long>(nbytes);
  return true;
}

void give_back(ur_device_handle_t gpu, size_t nbytes) {
  gpu->bytes_in_use -= nbytes;
  counters.device_bytes -= static_cast<long>(nbytes);
}

ur_result_t allocate(ur_usm_type_t type, ur_context_handle_t context, ur_device_handle_t device,
                     size_t nbytes, void** out) {
  const bool on_device = type == UR_USM_TYPE_DEVICE;
  const ur_result_t out_of_memory =
      on_device ? UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY : UR_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  if (fails_now()) return out_of_memory;
  if (nbytes == 0) return UR_RESULT_ERROR_INVALID_USM_SIZE;
  if (device && !context->reaches(device)) return UR_RESULT_ERROR_INVALID_DEVICE;
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (nbytes > SIZE_MAX / 2) return out_of_memory;

  auto allocation = std::make_shared<Allocation>();
  allocation->context = Ref<ur_context_handle_t_>(context);
  allocation->device = device;
  allocation->type = type;
  allocation->nbytes = nbytes;
  allocation->mapped_nbytes = (nbytes + page - 1) / page * page;

  if (on_device && !reserve(device->root(), allocation->mapped_nbytes)) return out_of_memory;
  if (!(on_device ? make_device_memory(*allocation) : map_once(*allocation))) {
    if (on_device) give_back(device->root(), allocation->mapped_nbytes);
    return out_of_memory;
  }
  *out = allocation->address;
  ++counters.live_allocations;
  Register& all = allocations();
  std::lock_guard<std::mutex> lock(all.mutex);
  all.by_address[allocation->address] = allocation;
  return UR_RESULT_SUCCESS;
}

ur_result_t usm_host_alloc(ur_context_handle_t context, const ur_usm_desc_t*, ur_usm_pool_handle_t,
                           size_t nbytes, void** out) {
  return allocate(UR_USM_TYPE_HOST, context, nullptr, nbytes, out);
}

ur_result_t usm_device_alloc(ur_context_handle_t context, ur_device_handle_t device,
                             const ur_usm_desc_t*, ur_usm_pool_handle_t, size_t nbytes,
                             void** out) {
  return allocate(UR_USM_TYPE_DEVICE, context, device, nbytes, out);
}

ur_result_t usm_shared_alloc(ur_context_handle_t context, ur_device_handle_t device,
                             const ur_usm_desc_t*, ur_usm_pool_handle_t, size_t nbytes,
                             void** out) {
  return allocate(UR_USM_TYPE_SHARED, context, device, nbytes, out);
}

ur_result_t usm_free(ur_context_handle_t context, void* pointer) {
  AllocationPtr allocation;  // unmapped when the lock is gone
  Register& all = allocations();
  {
    std::lock_guard<std::mutex> lock(all.mutex);
    auto found = all.by_address.find(static_cast<const char*>(pointer));
    if (found == all.by_address.end() || !is_known_in(*found->second, context))
      return UR_RESULT_ERROR_INVALID_VALUE;
    allocation = std::move(found->second);
    all.by_address.erase(found);
  }
  allocation->freed = true;
  if (allocation->type == UR_USM_TYPE_DEVICE && !allocation->opened)
    give_back(allocation->device->root(), allocation->mapped_nbytes);
  --counters.live_allocations;  // last: who waits for this finds the bytes given back
  return UR_RESULT_SUCCESS;
}

ur_result_t usm_info(ur_context_handle_t context, const void* pointer, ur_usm_alloc_info_t name,
                     size_t capacity, void* target, size_t* size) {
  const Answer answer(capacity, target, size);
  const AllocationPtr allocation = find(pointer);
  if (!allocation || !is_known_in(*allocation, context)) {
    return name == UR_USM_ALLOC_INFO_TYPE ? answer.value<ur_usm_type_t>(UR_USM_TYPE_UNKNOWN)
                                          : UR_RESULT_ERROR_INVALID_VALUE;
  }
  switch (name) {
    case UR_USM_ALLOC_INFO_TYPE:
      return answer.value(allocation->type);
    case UR_USM_ALLOC_INFO_DEVICE:
      return allocation->device ? answer.value(owner(*allocation)) : UR_RESULT_ERROR_INVALID_VALUE;
    case UR_USM_ALLOC_INFO_BASE_PTR:
      return answer.value<void*>(allocation->address);
    case UR_USM_ALLOC_INFO_SIZE:
      return answer.value(allocation->nbytes);
    default:
      return UR_RESULT_ERROR_UNSUPPORTED_ENUMERATION;
  }
}

// An inter-process handle: where the file of the allocation is, and on which device it was made.
struct Handle {
  pid_t process;
  int file, gpu, tile;
  size_t nbytes, mapped_nbytes, offset;
};

ur_result_t ipc_get(ur_context_handle_t, void* pointer, void** out, size_t* size) {
  if (fails_now()) return UR_RESULT_ERROR_OUT_OF_RESOURCES;
  const AllocationPtr allocation = find(pointer);
  if (!settings().ipc) return UR_RESULT_ERROR_UNSUPPORTED_FEATURE;
  if (!allocation || allocation->file < 0) return UR_RESULT_ERROR_INVALID_VALUE;
  const auto offset =
      static_cast<size_t>(static_cast<char*>(pointer) - static_cast<char*>(allocation->address));
  const ur_device_handle_t device = allocation->device;
  auto handle =
      std::make_shared<Handle>(Handle{getpid(), allocation->file, device->gpu, device->tile,
                                      allocation->nbytes, allocation->mapped_nbytes, offset});
  ++counters.ipc_handles;
  *out = handle.get();
  *size = sizeof *handle;
  std::lock_guard<std::mutex> lock(allocations().mutex);
  allocation->handles.push_back(std::move(handle));
  return UR_RESULT_SUCCESS;
}

ur_result_t ipc_put(ur_context_handle_t, void* handle) {
  Register& all = allocations();
  std::lock_guard<std::mutex> lock(all.mutex);
  for (auto& entry : all.by_address) {
    auto& handles = entry.second->handles;
    for (auto it = handles.begin(); it != handles.end(); ++it) {
      if (it->get() != handle) continue;
      handles.erase(it);
      --counters.ipc_handles;
      return UR_RESULT_SUCCESS;
    }
  }
  return UR_RESULT_ERROR_INVALID_VALUE;
}

ur_result_t ipc_open(ur_context_handle_t context, ur_device_handle_t device, void* data,
                     size_t size, void** out) {
  if (fails_now()) return UR_RESULT_ERROR_OUT_OF_RESOURCES;
  if (size != sizeof(Handle)) return UR_RESULT_ERROR_INVALID_VALUE;
  Handle handle;
  std::memcpy(&handle, data, sizeof handle);
  if (handle.gpu != device->gpu || handle.tile != device->tile)
    return UR_RESULT_ERROR_INVALID_DEVICE;
  const std::string path =
      "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.file);
  auto allocation = std::make_shared<Allocation>();
  allocation->context = Ref<ur_context_handle_t_>(context);
  allocation->device = device;
  allocation->type = UR_USM_TYPE_DEVICE;
  allocation->nbytes = handle.nbytes;
  allocation->mapped_nbytes = handle.mapped_nbytes;
  allocation->opened = true;
  allocation->file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (allocation->file < 0 || !map_twice(*allocation)) return UR_RESULT_ERROR_INVALID_VALUE;
  ++counters.live_allocations;
  *out = static_cast<char*>(allocation->address) + handle.offset;
  Register& all = allocations();
  std::lock_guard<std::mutex> lock(all.mutex);
  all.by_address[allocation->address] = allocation;
  return UR_RESULT_SUCCESS;
}

ur_result_t ipc_close(ur_context_handle_t context, void* pointer) {
  const AllocationPtr allocation = find(pointer);
  if (!allocation || !allocation->opened) return UR_RESULT_ERROR_INVALID_VALUE;
  return usm_free(context, allocation->address);
}

[[noreturn]] void die_of_use_after_free(const char* when) {
  std::fprintf(stderr, "[fakegpu] USM was freed %s a command that uses it\n", when);
  std::abort();
}

}  // namespace

Allocation::~Allocation() {
  if (file >= 0) close(file);
  if (address) munmap(address, mapped_nbytes);
  if (bytes && bytes != address) munmap(bytes, mapped_nbytes);
}

Place::Place(const void* pointer)
    : bytes_(const_cast<char*>(static_cast<const char*>(pointer))), room_(SIZE_MAX) {
  const AllocationPtr allocation = find(pointer);
  if (!allocation) return;
  const size_t offset = static_cast<size_t>(bytes_ - allocation->address);
  allocation_ = allocation;
  is_usm_ = true;
  bytes_ = allocation->bytes + offset;
  room_ = allocation->nbytes - offset;
  if (allocation->type == UR_USM_TYPE_DEVICE) gpu_ = allocation->device->root();
}

Access::Access(const Place& place) : allocation_(place.allocation_.lock()), bytes_(place.bytes_) {
  if (place.is_usm_ && (!allocation_ || allocation_->freed)) die_of_use_after_free("before");
}

Access::~Access() {
  if (allocation_ && allocation_->freed) die_of_use_after_free("during");
}

void fill_memory_tables(ur_dditable_t& table) {
  table.USM.pfnHostAlloc = usm_host_alloc;
  table.USM.pfnDeviceAlloc = usm_device_alloc;
  table.USM.pfnSharedAlloc = usm_shared_alloc;
  table.USM.pfnFree = usm_free;
  table.USM.pfnGetMemAllocInfo = usm_info;
  table.IPCExp.pfnGetMemHandleExp = ipc_get;
  table.IPCExp.pfnPutMemHandleExp = ipc_put;
  table.IPCExp.pfnOpenMemHandleExp = ipc_open;
  table.IPCExp.pfnCloseMemHandleExp = ipc_close;
}

}  // namespace fakegpu
