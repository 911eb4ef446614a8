// Entry points of contexts.
#include "context.hpp"

#include <algorithm>

#include "answer.hpp"
#include "control.hpp"
#include "settings.hpp"

bool ur_context_handle_t_::lists(ur_device_handle_t device) const {
  return std::find(devices.begin(), devices.end(), device) != devices.end();
}

bool ur_context_handle_t_::reaches(ur_device_handle_t device) const {
  return lists(device) || (!fakegpu::settings().strict_context && lists(device->root()));
}

namespace fakegpu {
namespace {

ur_result_t context_create(uint32_t count, const ur_device_handle_t* devices,
                           const ur_context_properties_t*, ur_context_handle_t* out) {
  if (fails_now()) return UR_RESULT_ERROR_OUT_OF_RESOURCES;
  *out = new ur_context_handle_t_;
  (*out)->devices.assign(devices, devices + count);
  return UR_RESULT_SUCCESS;
}

ur_result_t context_info(ur_context_handle_t context, ur_context_info_t name, size_t capacity,
                         void* target, size_t* size) {
  const Answer answer(capacity, target, size);
  const auto& devices = context->devices;
  switch (name) {
    case UR_CONTEXT_INFO_NUM_DEVICES:
      return answer.value(static_cast<uint32_t>(devices.size()));
    case UR_CONTEXT_INFO_DEVICES:
      return answer.bytes(devices.data(), devices.size() * sizeof devices[0]);
    case UR_CONTEXT_INFO_REFERENCE_COUNT:
      return answer.value<uint32_t>(context->references);
    case UR_CONTEXT_INFO_USM_MEMCPY2D_SUPPORT:
    case UR_CONTEXT_INFO_USM_FILL2D_SUPPORT:
      return answer.value<ur_bool_t>(settings().two_d);
    default:
      return UR_RESULT_ERROR_UNSUPPORTED_ENUMERATION;
  }
}

ur_result_t context_extended_deleter(ur_context_handle_t, ur_context_extended_deleter_t, void*) {
  return UR_RESULT_SUCCESS;
}

}  // namespace

void fill_context_tables(ur_dditable_t& table) {
  table.Context.pfnCreate = context_create;
  table.Context.pfnRetain = retain;
  table.Context.pfnRelease = release;
  table.Context.pfnGetInfo = context_info;
  table.Context.pfnGetNativeHandle = native_handle;
  table.Context.pfnSetExtendedDeleter = context_extended_deleter;
}

}  // namespace fakegpu
