// SPDX-License-Identifier: Apache-2.0
//
// The real Level Zero adapter (v2), on the stand-in driver, under the name of CUDA or HIP, which is
// POSING_BACKEND.  This library is linked with it, so the loader finds the adapter's functions, but
// for the one below: that changes the adapter's own table, to which its handles lead.
//
// Three habits of the real CUDA adapter, which the Level Zero adapters do not have:
// - a process cannot open its own inter-process handles (UR_RESULT_ERROR_INVALID_CONTEXT);
// - a copy from or to pageable memory blocks inside its submission, and registering host memory
//   does not change that;
// - a lost device is UR_RESULT_ERROR_UNKNOWN, for ever ("sticky").
#include <dlfcn.h>
#include <unified-runtime/ur_api.h>
#include <unified-runtime/ur_ddi.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace {

ur_dditable_t real;

ur_result_t answer_backend(size_t capacity, void* target, size_t* size) {
  const ur_backend_t value = POSING_BACKEND;
  if (target && capacity < sizeof value) return UR_RESULT_ERROR_INVALID_SIZE;
  if (target) std::memcpy(target, &value, sizeof value);
  if (size) *size = sizeof value;
  return UR_RESULT_SUCCESS;
}

ur_result_t adapter_info(ur_adapter_handle_t adapter, ur_adapter_info_t name, size_t capacity,
                         void* target, size_t* size) {
  if (name == UR_ADAPTER_INFO_BACKEND) return answer_backend(capacity, target, size);
  return real.Adapter.pfnGetInfo(adapter, name, capacity, target, size);
}

ur_result_t platform_info(ur_platform_handle_t platform, ur_platform_info_t name, size_t capacity,
                          void* target, size_t* size) {
  if (name == UR_PLATFORM_INFO_BACKEND) return answer_backend(capacity, target, size);
  return real.Platform.pfnGetInfo(platform, name, capacity, target, size);
}

// The number of a device in CUDA and HIP; the stand-in has it at the end of the name.
ur_result_t device_native_handle(ur_device_handle_t device, ur_native_handle_t* out) {
  char name[64] = {};
  const ur_result_t result =
      real.Device.pfnGetInfo(device, UR_DEVICE_INFO_NAME, sizeof name, name, nullptr);
  *out = static_cast<ur_native_handle_t>(name[std::strlen(name) - 1] - '0');
  return result;
}

// ---- inter-process handles

std::mutex handles_mutex;
std::set<std::pair<pid_t, std::string>> handles;

ur_result_t get_handle(ur_context_handle_t context, void* memory, void** data, size_t* size) {
  const ur_result_t result = real.IPCExp.pfnGetMemHandleExp(context, memory, data, size);
  if (result != UR_RESULT_SUCCESS || !data || !size) return result;
  const std::lock_guard<std::mutex> lock(handles_mutex);
  handles.insert({getpid(), {static_cast<const char*>(*data), *size}});
  return result;
}

ur_result_t open_handle(ur_context_handle_t context, ur_device_handle_t device, void* data,
                        size_t size, void** memory) {
  {
    const std::lock_guard<std::mutex> lock(handles_mutex);
    if (handles.count({getpid(), {static_cast<const char*>(data), size}}) != 0) {
      return UR_RESULT_ERROR_INVALID_CONTEXT;
    }
  }
  return real.IPCExp.pfnOpenMemHandleExp(context, device, data, size, memory);
}

// ---- pageable memory

bool is_pageable(ur_queue_handle_t queue, const void* pointer) {
  ur_context_handle_t context = nullptr;
  ur_usm_type_t type = UR_USM_TYPE_UNKNOWN;
  real.Queue.pfnGetInfo(queue, UR_QUEUE_INFO_CONTEXT, sizeof context, &context, nullptr);
  real.USM.pfnGetMemAllocInfo(context, pointer, UR_USM_ALLOC_INFO_TYPE, sizeof type, &type,
                              nullptr);
  return type == UR_USM_TYPE_UNKNOWN;
}

ur_result_t copy(ur_queue_handle_t queue, bool blocks, void* to, const void* from, size_t size,
                 uint32_t count, const ur_event_handle_t* events, ur_event_handle_t* event) {
  const bool waits = blocks || is_pageable(queue, to) || is_pageable(queue, from);
  return real.Enqueue.pfnUSMMemcpy(queue, waits, to, from, size, count, events, event);
}

// ---- errors

// The function of the table, whose DEVICE_LOST is UNKNOWN.
template <auto Function>
struct Sticky;
template <class Table, class... Arguments, ur_result_t (*Table::*Function)(Arguments...)>
struct Sticky<Function> {
  static inline ur_result_t (*call)(Arguments...);
  static ur_result_t answer(Arguments... arguments) {
    const ur_result_t result = call(arguments...);
    return result == UR_RESULT_ERROR_DEVICE_LOST ? UR_RESULT_ERROR_UNKNOWN : result;
  }
};

template <auto Function, class Table>
void make_sticky(Table& table) {
  Sticky<Function>::call = table.*Function;
  table.*Function = Sticky<Function>::answer;
}

void make_sticky(ur_dditable_t& table) {
  make_sticky<&ur_enqueue_dditable_t::pfnEventsWait>(table.Enqueue);
  make_sticky<&ur_enqueue_dditable_t::pfnEventsWaitWithBarrier>(table.Enqueue);
  make_sticky<&ur_enqueue_dditable_t::pfnEventsWaitWithBarrierExt>(table.Enqueue);
  make_sticky<&ur_enqueue_dditable_t::pfnUSMFill>(table.Enqueue);
  make_sticky<&ur_enqueue_dditable_t::pfnUSMMemcpy>(table.Enqueue);
  make_sticky<&ur_event_dditable_t::pfnGetInfo>(table.Event);
  make_sticky<&ur_event_dditable_t::pfnWait>(table.Event);
  make_sticky<&ur_queue_dditable_t::pfnCreate>(table.Queue);
  make_sticky<&ur_queue_dditable_t::pfnFinish>(table.Queue);
  make_sticky<&ur_queue_dditable_t::pfnFlush>(table.Queue);
  make_sticky<&ur_queue_dditable_t::pfnGetInfo>(table.Queue);
  make_sticky<&ur_usm_dditable_t::pfnDeviceAlloc>(table.USM);
  make_sticky<&ur_usm_dditable_t::pfnFree>(table.USM);
  make_sticky<&ur_usm_dditable_t::pfnHostAlloc>(table.USM);
  make_sticky<&ur_usm_dditable_t::pfnSharedAlloc>(table.USM);
}

// Of a stream, which nobody follows.
ur_result_t queue_native_handle(ur_queue_handle_t queue, ur_queue_native_desc_t*,
                                ur_native_handle_t* out) {
  *out = reinterpret_cast<ur_native_handle_t>(queue);
  return UR_RESULT_SUCCESS;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) ur_result_t
urGetAdapterProcAddrTable(ur_api_version_t version, ur_adapter_dditable_t* out) {
  using Get = decltype(&urGetAdapterProcAddrTable);
  const auto get = reinterpret_cast<Get>(dlsym(RTLD_NEXT, "urGetAdapterProcAddrTable"));
  ur_adapter_handle_t adapter = nullptr;
  if (const ur_result_t result = get(version, out)) return result;
  if (const ur_result_t result = out->pfnGet(1, &adapter, nullptr)) return result;
  ur_dditable_t& table = **reinterpret_cast<ur_dditable_t**>(adapter);
  real = table;
  table.Adapter.pfnGetInfo = out->pfnGetInfo = adapter_info;
  table.Platform.pfnGetInfo = platform_info;
  table.Device.pfnGetNativeHandle = device_native_handle;
  table.Queue.pfnGetNativeHandle = queue_native_handle;
  table.IPCExp.pfnGetMemHandleExp = get_handle;
  table.IPCExp.pfnOpenMemHandleExp = open_handle;
  table.Enqueue.pfnUSMMemcpy = copy;
  make_sticky(table);
  return UR_RESULT_SUCCESS;
}
