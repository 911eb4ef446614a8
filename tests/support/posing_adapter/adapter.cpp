// An adapter of the Unified Runtime whose two GPUs pose as those of CUDA or HIP (POSING_BACKEND):
// devices, USM and copies; no kernels.  One thread carries out the commands of all queues in the
// order of their submission, which is an order that every dependency allows.
//
// The loader takes a part of the table that is missing, or a null in it, for "unsupported".
#include <unified-runtime/ur_api.h>
#include <unified-runtime/ur_ddi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

const ur_dditable_t& tables();

// The loader finds the adapter of a handle in its first member.
struct Handle {
  const ur_dditable_t* table = &tables();
  std::atomic<std::uint32_t> references{1};
};

template <class H>
ur_result_t retain(H* handle) {
  ++handle->references;
  return UR_RESULT_SUCCESS;
}

template <class H>
ur_result_t release(H* handle) {
  if (--handle->references == 0) delete handle;
  return UR_RESULT_SUCCESS;
}

// Of what lives as long as the process.
template <class H>
ur_result_t immortal(H*) {
  return UR_RESULT_SUCCESS;
}

template <class H>
ur_result_t native_handle(H* handle, ur_native_handle_t* out) {
  *out = reinterpret_cast<ur_native_handle_t>(handle);
  return UR_RESULT_SUCCESS;
}

}  // namespace

struct ur_adapter_handle_t_ : Handle {};
struct ur_platform_handle_t_ : Handle {};
struct ur_device_handle_t_ : Handle {
  int number = 0;
};
struct ur_context_handle_t_ : Handle {
  std::vector<ur_device_handle_t> devices;
};
struct ur_queue_handle_t_ : Handle {
  ur_context_handle_t context;
  ur_device_handle_t device;
  ur_queue_flags_t flags;
  std::atomic<int> pending{0};
};
struct ur_event_handle_t_ : Handle {
  ur_queue_handle_t queue;
  ur_command_t command;
  std::atomic<bool> done{false};
};

namespace {

ur_adapter_handle_t_ the_adapter;
ur_platform_handle_t_ the_platform;
ur_device_handle_t_ gpus[2];

ur_backend_t backend() {
  const char* const name = std::getenv("POSING_BACKEND");
  return name && std::string(name) == "hip" ? UR_BACKEND_HIP : UR_BACKEND_CUDA;
}

// ---- what a question is answered with --------------------------------------------------------

struct Answer {
  size_t capacity;
  void* target;
  size_t* size;

  ur_result_t bytes(const void* data, size_t nbytes) const {
    if (target && capacity < nbytes) return UR_RESULT_ERROR_INVALID_SIZE;
    if (target) std::memcpy(target, data, nbytes);
    if (size) *size = nbytes;
    return UR_RESULT_SUCCESS;
  }
  template <class T>
  ur_result_t value(T v) const {
    return bytes(&v, sizeof v);
  }
  ur_result_t text(const std::string& s) const { return bytes(s.c_str(), s.size() + 1); }
  // Zero, empty or false, whatever its type is.
  ur_result_t zeros() const {
    if (target) std::memset(target, 0, capacity);
    if (size) *size = target ? capacity : 0;
    return UR_RESULT_SUCCESS;
  }
};

template <class H>
ur_result_t one(H* it, uint32_t room, H** out, uint32_t* count) {
  if (out && room > 0) out[0] = it;
  if (count) *count = 1;
  return UR_RESULT_SUCCESS;
}

// ---- adapter, platform, devices --------------------------------------------------------------

ur_result_t adapter_get(uint32_t room, ur_adapter_handle_t* out, uint32_t* count) {
  return one(&the_adapter, room, out, count);
}

ur_result_t adapter_info(ur_adapter_handle_t, ur_adapter_info_t name, size_t capacity, void* target,
                         size_t* size) {
  const Answer answer{capacity, target, size};
  if (name == UR_ADAPTER_INFO_BACKEND) return answer.value(backend());
  return answer.value<uint32_t>(1);
}

ur_result_t adapter_last_error(ur_adapter_handle_t, const char** message, int32_t* code) {
  *message = "";
  *code = 0;
  return UR_RESULT_SUCCESS;
}

ur_result_t platform_get(ur_adapter_handle_t, uint32_t room, ur_platform_handle_t* out,
                         uint32_t* count) {
  return one(&the_platform, room, out, count);
}

ur_result_t platform_info(ur_platform_handle_t, ur_platform_info_t name, size_t capacity,
                          void* target, size_t* size) {
  const Answer answer{capacity, target, size};
  if (name == UR_PLATFORM_INFO_BACKEND) return answer.value(backend());
  if (name == UR_PLATFORM_INFO_ADAPTER) return answer.value(&the_adapter);
  return answer.text(name == UR_PLATFORM_INFO_NAME ? "Posing GPUs" : "");
}

ur_result_t platform_api_version(ur_platform_handle_t, ur_api_version_t* version) {
  *version = UR_API_VERSION_CURRENT;
  return UR_RESULT_SUCCESS;
}

ur_result_t platform_backend_option(ur_platform_handle_t, const char*, const char** option) {
  *option = "";
  return UR_RESULT_SUCCESS;
}

ur_result_t device_get(ur_platform_handle_t, ur_device_type_t type, uint32_t room,
                       ur_device_handle_t* out, uint32_t* count) {
  const bool asked =
      type == UR_DEVICE_TYPE_ALL || type == UR_DEVICE_TYPE_GPU || type == UR_DEVICE_TYPE_DEFAULT;
  const uint32_t found = asked ? 2 : 0;
  for (uint32_t i = 0; out && i < std::min(room, found); ++i) {
    gpus[i].number = static_cast<int>(i);
    out[i] = &gpus[i];
  }
  if (count) *count = found;
  return UR_RESULT_SUCCESS;
}

// The number of a device in CUDA and HIP.
ur_result_t device_native_handle(ur_device_handle_t device, ur_native_handle_t* out) {
  *out = static_cast<ur_native_handle_t>(device->number);
  return UR_RESULT_SUCCESS;
}

ur_result_t device_select_binary(ur_device_handle_t, const ur_device_binary_t*, uint32_t,
                                 uint32_t*) {
  return UR_RESULT_ERROR_INVALID_BINARY;
}

ur_result_t device_info(ur_device_handle_t device, ur_device_info_t name, size_t capacity,
                        void* target, size_t* size) {
  const Answer answer{capacity, target, size};
  const unsigned char uuid[16] = {0xca, static_cast<unsigned char>(device->number)};
  const ur_device_usm_access_capability_flags_t usm =
      UR_DEVICE_USM_ACCESS_CAPABILITY_FLAG_ACCESS |
      UR_DEVICE_USM_ACCESS_CAPABILITY_FLAG_CONCURRENT_ACCESS;
  switch (name) {
    case UR_DEVICE_INFO_TYPE:
      return answer.value<ur_device_type_t>(UR_DEVICE_TYPE_GPU);
    case UR_DEVICE_INFO_NAME:
      return answer.text("Posing GPU " + std::to_string(device->number));
    case UR_DEVICE_INFO_VENDOR:
    case UR_DEVICE_INFO_DRIVER_VERSION:
    case UR_DEVICE_INFO_VERSION:
      return answer.text("1.0");
    case UR_DEVICE_INFO_EXTENSIONS:
      return answer.text("cl_khr_fp16 cl_khr_fp64");
    case UR_DEVICE_INFO_PROFILE:
    case UR_DEVICE_INFO_BUILT_IN_KERNELS:
      return answer.text("");
    case UR_DEVICE_INFO_UUID:
      return answer.bytes(uuid, sizeof uuid);
    case UR_DEVICE_INFO_PLATFORM:
      return answer.value(&the_platform);
    case UR_DEVICE_INFO_PARENT_DEVICE:
      return answer.value<ur_device_handle_t>(nullptr);
    case UR_DEVICE_INFO_SUPPORTED_PARTITIONS:
    case UR_DEVICE_INFO_PARTITION_TYPE:
      return answer.bytes("", 0);
    case UR_DEVICE_INFO_AVAILABLE:
    case UR_DEVICE_INFO_ENDIAN_LITTLE:
      return answer.value<ur_bool_t>(true);
    case UR_DEVICE_INFO_QUEUE_PROPERTIES:
    case UR_DEVICE_INFO_QUEUE_ON_DEVICE_PROPERTIES:
      return answer.value<ur_queue_flags_t>(UR_QUEUE_FLAG_PROFILING_ENABLE |
                                            UR_QUEUE_FLAG_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    case UR_DEVICE_INFO_DOUBLE_FP_CONFIG:
      return answer.value<ur_device_fp_capability_flags_t>(
          UR_DEVICE_FP_CAPABILITY_FLAG_ROUND_TO_NEAREST);
    case UR_DEVICE_INFO_MAX_WORK_GROUP_SIZE:
      return answer.value<size_t>(1024);
    case UR_DEVICE_INFO_SUB_GROUP_SIZES_INTEL:
      return answer.value<uint32_t>(32);
    case UR_DEVICE_INFO_MAX_COMPUTE_UNITS:
      return answer.value<uint32_t>(64);
    case UR_DEVICE_INFO_GLOBAL_MEM_SIZE:
    case UR_DEVICE_INFO_MAX_MEM_ALLOC_SIZE:
    case UR_DEVICE_INFO_GLOBAL_MEM_FREE:
      return answer.value<uint64_t>(1 << 30);
    case UR_DEVICE_INFO_USM_HOST_SUPPORT:
    case UR_DEVICE_INFO_USM_DEVICE_SUPPORT:
    case UR_DEVICE_INFO_USM_SINGLE_SHARED_SUPPORT:
      return answer.value(usm);
    default:
      return answer.zeros();
  }
}

ur_result_t peer_info(ur_device_handle_t, ur_device_handle_t, ur_exp_peer_info_t, size_t capacity,
                      void* target, size_t* size) {
  return Answer{capacity, target, size}.value<int>(0);
}

// ---- contexts and USM ------------------------------------------------------------------------

ur_result_t context_create(uint32_t count, const ur_device_handle_t* devices,
                           const ur_context_properties_t*, ur_context_handle_t* out) {
  *out = new ur_context_handle_t_;
  (*out)->devices.assign(devices, devices + count);
  return UR_RESULT_SUCCESS;
}

ur_result_t context_info(ur_context_handle_t context, ur_context_info_t name, size_t capacity,
                         void* target, size_t* size) {
  const Answer answer{capacity, target, size};
  const auto& devices = context->devices;
  if (name == UR_CONTEXT_INFO_NUM_DEVICES)
    return answer.value(static_cast<uint32_t>(devices.size()));
  if (name == UR_CONTEXT_INFO_DEVICES)
    return answer.bytes(devices.data(), devices.size() * sizeof devices[0]);
  return answer.zeros();
}

ur_result_t context_deleter(ur_context_handle_t, ur_context_extended_deleter_t, void*) {
  return UR_RESULT_SUCCESS;
}

struct Block {
  size_t nbytes;
  ur_usm_type_t type;
  ur_device_handle_t device;  // null: host memory
};

std::mutex& mutex = *new std::mutex;  // of all that follows; never destroyed, as the rest
std::map<const char*, Block>& blocks = *new std::map<const char*, Block>;

ur_result_t allocate(ur_usm_type_t type, ur_device_handle_t device, size_t nbytes, void** out) {
  *out = std::aligned_alloc(4096, (nbytes + 4095) / 4096 * 4096);
  if (!*out) return UR_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  const std::lock_guard<std::mutex> lock(mutex);
  blocks[static_cast<char*>(*out)] = {nbytes, type, device};
  return UR_RESULT_SUCCESS;
}

ur_result_t host_alloc(ur_context_handle_t, const ur_usm_desc_t*, ur_usm_pool_handle_t,
                       size_t nbytes, void** out) {
  return allocate(UR_USM_TYPE_HOST, nullptr, nbytes, out);
}

ur_result_t device_alloc(ur_context_handle_t, ur_device_handle_t device, const ur_usm_desc_t*,
                         ur_usm_pool_handle_t, size_t nbytes, void** out) {
  return allocate(UR_USM_TYPE_DEVICE, device, nbytes, out);
}

ur_result_t shared_alloc(ur_context_handle_t, ur_device_handle_t device, const ur_usm_desc_t*,
                         ur_usm_pool_handle_t, size_t nbytes, void** out) {
  return allocate(UR_USM_TYPE_SHARED, device, nbytes, out);
}

ur_result_t usm_free(ur_context_handle_t, void* pointer) {
  const std::lock_guard<std::mutex> lock(mutex);
  if (!blocks.erase(static_cast<char*>(pointer))) return UR_RESULT_ERROR_INVALID_VALUE;
  std::free(pointer);
  return UR_RESULT_SUCCESS;
}

ur_result_t usm_info(ur_context_handle_t, const void* pointer, ur_usm_alloc_info_t name,
                     size_t capacity, void* target, size_t* size) {
  const Answer answer{capacity, target, size};
  const char* const address = static_cast<const char*>(pointer);
  const std::lock_guard<std::mutex> lock(mutex);
  const auto after = blocks.upper_bound(address);
  const auto found = after == blocks.begin() ? blocks.end() : std::prev(after);
  if (found == blocks.end() || address >= found->first + found->second.nbytes) {
    return name == UR_USM_ALLOC_INFO_TYPE ? answer.value(UR_USM_TYPE_UNKNOWN)
                                          : UR_RESULT_ERROR_INVALID_VALUE;
  }
  switch (name) {
    case UR_USM_ALLOC_INFO_TYPE:
      return answer.value(found->second.type);
    case UR_USM_ALLOC_INFO_DEVICE:
      return answer.value(found->second.device);
    case UR_USM_ALLOC_INFO_BASE_PTR:
      return answer.value<const void*>(found->first);
    case UR_USM_ALLOC_INFO_SIZE:
      return answer.value(found->second.nbytes);
    default:
      return UR_RESULT_ERROR_UNSUPPORTED_ENUMERATION;
  }
}

// ---- commands --------------------------------------------------------------------------------

std::condition_variable& changed = *new std::condition_variable;
std::deque<std::function<void()>>& commands = *new std::deque<std::function<void()>>;
std::atomic<long> delay_us{0};

void carry_out_commands() {
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    changed.wait(lock, [] { return !commands.empty(); });
    const std::function<void()> command = std::move(commands.front());
    commands.pop_front();
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::microseconds(delay_us));
    command();
    lock.lock();
  }
}

// The events in the wait lists were submitted earlier, and are done by then.
ur_result_t submit(ur_queue_handle_t queue, ur_command_t kind, ur_event_handle_t* out,
                   std::function<void()> work) {
  static const bool started = (std::thread(carry_out_commands).detach(), true);
  static_cast<void>(started);
  auto* const event = new ur_event_handle_t_;
  event->queue = queue;
  event->command = kind;
  retain(queue);
  retain(event);
  ++queue->pending;
  {
    const std::lock_guard<std::mutex> lock(mutex);
    commands.push_back([event, queue, work = std::move(work)] {
      work();
      {
        const std::lock_guard<std::mutex> lock(mutex);
        event->done = true;
        --queue->pending;
        changed.notify_all();
      }
      release(event);
    });
    changed.notify_all();
  }
  if (out) *out = event;
  if (!out) release(event);
  return UR_RESULT_SUCCESS;
}

ur_result_t event_wait(uint32_t count, const ur_event_handle_t* events) {
  std::unique_lock<std::mutex> lock(mutex);
  for (uint32_t i = 0; i < count; ++i)
    changed.wait(lock, [event = events[i]] { return event->done.load(); });
  return UR_RESULT_SUCCESS;
}

ur_result_t enqueue_memcpy(ur_queue_handle_t queue, bool blocking, void* to, const void* from,
                           size_t nbytes, uint32_t, const ur_event_handle_t*,
                           ur_event_handle_t* out) {
  ur_event_handle_t event;
  submit(queue, UR_COMMAND_USM_MEMCPY, &event, [=] { std::memmove(to, from, nbytes); });
  if (blocking) event_wait(1, &event);
  if (out) *out = event;
  if (!out) release(event);
  return UR_RESULT_SUCCESS;
}

ur_result_t enqueue_fill(ur_queue_handle_t queue, void* to, size_t pattern_size,
                         const void* pattern, size_t nbytes, uint32_t, const ur_event_handle_t*,
                         ur_event_handle_t* out) {
  const std::string what(static_cast<const char*>(pattern), pattern_size);
  return submit(queue, UR_COMMAND_USM_FILL, out, [=] {
    for (size_t i = 0; i < nbytes; ++i) static_cast<char*>(to)[i] = what[i % what.size()];
  });
}

ur_result_t enqueue_barrier(ur_queue_handle_t queue, uint32_t, const ur_event_handle_t*,
                            ur_event_handle_t* out) {
  return submit(queue, UR_COMMAND_EVENTS_WAIT_WITH_BARRIER, out, [] {});
}

ur_result_t enqueue_barrier_ext(ur_queue_handle_t queue, const ur_exp_enqueue_ext_properties_t*,
                                uint32_t count, const ur_event_handle_t* events,
                                ur_event_handle_t* out) {
  return enqueue_barrier(queue, count, events, out);
}

ur_result_t queue_create(ur_context_handle_t context, ur_device_handle_t device,
                         const ur_queue_properties_t* properties, ur_queue_handle_t* out) {
  *out = new ur_queue_handle_t_;
  (*out)->context = context;
  (*out)->device = device;
  (*out)->flags = properties ? properties->flags : 0;
  return retain(context);
}

ur_result_t queue_info(ur_queue_handle_t queue, ur_queue_info_t name, size_t capacity, void* target,
                       size_t* size) {
  const Answer answer{capacity, target, size};
  switch (name) {
    case UR_QUEUE_INFO_CONTEXT:
      return answer.value(queue->context);
    case UR_QUEUE_INFO_DEVICE:
      return answer.value(queue->device);
    case UR_QUEUE_INFO_FLAGS:
      return answer.value(queue->flags);
    case UR_QUEUE_INFO_EMPTY:
      return answer.value<ur_bool_t>(queue->pending == 0);
    default:
      return answer.zeros();
  }
}

ur_result_t queue_finish(ur_queue_handle_t queue) {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [queue] { return queue->pending == 0; });
  return UR_RESULT_SUCCESS;
}

ur_result_t queue_native_handle(ur_queue_handle_t queue, ur_queue_native_desc_t*,
                                ur_native_handle_t* out) {
  return native_handle(queue, out);
}

ur_result_t event_info(ur_event_handle_t event, ur_event_info_t name, size_t capacity, void* target,
                       size_t* size) {
  const Answer answer{capacity, target, size};
  switch (name) {
    case UR_EVENT_INFO_COMMAND_QUEUE:
      return answer.value(event->queue);
    case UR_EVENT_INFO_CONTEXT:
      return answer.value(event->queue->context);
    case UR_EVENT_INFO_COMMAND_TYPE:
      return answer.value(event->command);
    case UR_EVENT_INFO_COMMAND_EXECUTION_STATUS:
      return answer.value(event->done ? UR_EVENT_STATUS_COMPLETE : UR_EVENT_STATUS_SUBMITTED);
    default:
      return answer.zeros();
  }
}

const ur_dditable_t& tables() {
  static const ur_dditable_t table = [] {
    ur_dditable_t t{};
    t.Adapter.pfnGet = adapter_get;
    t.Adapter.pfnRetain = immortal;
    t.Adapter.pfnRelease = immortal;
    t.Adapter.pfnGetInfo = adapter_info;
    t.Adapter.pfnGetLastError = adapter_last_error;
    t.Platform.pfnGet = platform_get;
    t.Platform.pfnGetInfo = platform_info;
    t.Platform.pfnGetApiVersion = platform_api_version;
    t.Platform.pfnGetBackendOption = platform_backend_option;
    t.Platform.pfnGetNativeHandle = native_handle;
    t.Device.pfnGet = device_get;
    t.Device.pfnGetInfo = device_info;
    t.Device.pfnRetain = immortal;
    t.Device.pfnRelease = immortal;
    t.Device.pfnGetNativeHandle = device_native_handle;
    t.Device.pfnSelectBinary = device_select_binary;
    t.UsmP2PExp.pfnPeerAccessGetInfoExp = peer_info;
    t.Context.pfnCreate = context_create;
    t.Context.pfnRetain = retain;
    t.Context.pfnRelease = release;
    t.Context.pfnGetInfo = context_info;
    t.Context.pfnGetNativeHandle = native_handle;
    t.Context.pfnSetExtendedDeleter = context_deleter;
    t.USM.pfnHostAlloc = host_alloc;
    t.USM.pfnDeviceAlloc = device_alloc;
    t.USM.pfnSharedAlloc = shared_alloc;
    t.USM.pfnFree = usm_free;
    t.USM.pfnGetMemAllocInfo = usm_info;
    t.Queue.pfnCreate = queue_create;
    t.Queue.pfnRetain = retain;
    t.Queue.pfnRelease = release;
    t.Queue.pfnGetInfo = queue_info;
    t.Queue.pfnFinish = queue_finish;
    t.Queue.pfnFlush = immortal;
    t.Queue.pfnGetNativeHandle = queue_native_handle;
    t.Event.pfnGetInfo = event_info;
    t.Event.pfnWait = event_wait;
    t.Event.pfnRetain = retain;
    t.Event.pfnRelease = release;
    t.Enqueue.pfnUSMMemcpy = enqueue_memcpy;
    t.Enqueue.pfnUSMFill = enqueue_fill;
    t.Enqueue.pfnEventsWait = enqueue_barrier;
    t.Enqueue.pfnEventsWaitWithBarrier = enqueue_barrier;
    t.Enqueue.pfnEventsWaitWithBarrierExt = enqueue_barrier_ext;
    return t;
  }();
  return table;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

// Pause before each command.
EXPORT void posing_set_delay_us(long microseconds) { delay_us = microseconds; }

#define EXPORT_PART(PART)                                                             \
  EXPORT ur_result_t urGet##PART##ProcAddrTable(ur_api_version_t,                     \
                                                decltype(ur_dditable_t::PART)* out) { \
    *out = tables().PART;                                                             \
    return UR_RESULT_SUCCESS;                                                         \
  }

EXPORT_PART(Adapter)
EXPORT_PART(Platform)
EXPORT_PART(Device)
EXPORT_PART(UsmP2PExp)
EXPORT_PART(Context)
EXPORT_PART(USM)
EXPORT_PART(Event)
EXPORT_PART(Queue)
EXPORT_PART(Enqueue)
