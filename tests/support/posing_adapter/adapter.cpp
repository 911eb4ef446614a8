// SPDX-License-Identifier: Apache-2.0
//
// The real Level Zero adapter (v2), on the stand-in driver, under the name of CUDA or HIP, which is
// POSING_BACKEND.  This library is linked with it, so the loader finds the adapter's functions, but
// for the one below: that changes the adapter's own table, to which its handles lead.
#include <dlfcn.h>
#include <unified-runtime/ur_api.h>
#include <unified-runtime/ur_ddi.h>

#include <cstring>

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

// Without handles for other processes.
ur_result_t device_info(ur_device_handle_t device, ur_device_info_t name, size_t capacity,
                        void* target, size_t* size) {
  const ur_result_t result = real.Device.pfnGetInfo(device, name, capacity, target, size);
  if (name == UR_DEVICE_INFO_IPC_MEMORY_SUPPORT_EXP && target) std::memset(target, 0, capacity);
  return result;
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
  table.Device.pfnGetInfo = device_info;
  table.Device.pfnGetNativeHandle = device_native_handle;
  table.Queue.pfnGetNativeHandle = queue_native_handle;
  return UR_RESULT_SUCCESS;
}
