// Entry points of the adapter and of the platform: who we claim to be.
#include "answer.hpp"
#include "device.hpp"
#include "settings.hpp"

namespace fakegpu {

ur_adapter_handle_t the_adapter() {
  static auto* adapter = new ur_adapter_handle_t_;
  return adapter;
}

ur_platform_handle_t the_platform() {
  static auto* platform = new ur_platform_handle_t_;
  return platform;
}

namespace {

ur_result_t adapter_get(uint32_t room, ur_adapter_handle_t* out, uint32_t* count) {
  if (out && room > 0) out[0] = the_adapter();
  if (count) *count = 1;
  return UR_RESULT_SUCCESS;
}

ur_result_t adapter_last_error(ur_adapter_handle_t, const char** message, int32_t* code) {
  if (message) *message = "fakegpu";
  if (code) *code = 0;
  return UR_RESULT_SUCCESS;
}

ur_result_t adapter_info(ur_adapter_handle_t, ur_adapter_info_t name, size_t capacity, void* target,
                         size_t* size) {
  const Answer answer(capacity, target, size);
  switch (name) {
    case UR_ADAPTER_INFO_BACKEND:
      return answer.value(static_cast<ur_backend_t>(settings().backend));
    case UR_ADAPTER_INFO_REFERENCE_COUNT:
    case UR_ADAPTER_INFO_VERSION:
      return answer.value<uint32_t>(1);
    default:
      return UR_RESULT_ERROR_UNSUPPORTED_ENUMERATION;
  }
}

ur_result_t adapter_logger(ur_adapter_handle_t, ur_logger_callback_t, void*, ur_logger_level_t) {
  return UR_RESULT_SUCCESS;
}

ur_result_t adapter_logger_level(ur_adapter_handle_t, ur_logger_level_t) {
  return UR_RESULT_SUCCESS;
}

ur_result_t platform_get(ur_adapter_handle_t, uint32_t room, ur_platform_handle_t* out,
                         uint32_t* count) {
  if (out && room > 0) out[0] = the_platform();
  if (count) *count = 1;
  return UR_RESULT_SUCCESS;
}

ur_result_t platform_info(ur_platform_handle_t, ur_platform_info_t name, size_t capacity,
                          void* target, size_t* size) {
  const Answer answer(capacity, target, size);
  switch (name) {
    case UR_PLATFORM_INFO_NAME:
      return answer.text("Fake GPU (UR)");
    case UR_PLATFORM_INFO_VENDOR_NAME:
      return answer.text("fakegpu");
    case UR_PLATFORM_INFO_VERSION:
      return answer.text("1.0");
    case UR_PLATFORM_INFO_EXTENSIONS:
    case UR_PLATFORM_INFO_PROFILE:
      return answer.text("");
    case UR_PLATFORM_INFO_BACKEND:
      return answer.value(static_cast<ur_backend_t>(settings().backend));
    case UR_PLATFORM_INFO_ADAPTER:
      return answer.value(the_adapter());
    default:
      return UR_RESULT_ERROR_UNSUPPORTED_ENUMERATION;
  }
}

ur_result_t platform_api_version(ur_platform_handle_t, ur_api_version_t* version) {
  *version = UR_API_VERSION_CURRENT;
  return UR_RESULT_SUCCESS;
}

ur_result_t platform_backend_option(ur_platform_handle_t, const char*, const char** option) {
  *option = "";
  return UR_RESULT_SUCCESS;
}

}  // namespace

void fill_platform_tables(ur_dditable_t& table) {
  table.Adapter.pfnGet = adapter_get;
  table.Adapter.pfnRetain = immortal;
  table.Adapter.pfnRelease = immortal;
  table.Adapter.pfnGetLastError = adapter_last_error;
  table.Adapter.pfnGetInfo = adapter_info;
  table.Adapter.pfnSetLoggerCallback = adapter_logger;
  table.Adapter.pfnSetLoggerCallbackLevel = adapter_logger_level;

  table.Platform.pfnGet = platform_get;
  table.Platform.pfnGetInfo = platform_info;
  table.Platform.pfnGetApiVersion = platform_api_version;
  table.Platform.pfnGetBackendOption = platform_backend_option;
  table.Platform.pfnGetNativeHandle = native_handle;
}

}  // namespace fakegpu
