// The driver: one, with only GPUs; and the functions that Intel's driver has beyond the
// specification.
#include <cstring>
#include <map>
#include <string>

#include "device.hpp"
#include "event.hpp"
#include "memory.hpp"

using namespace stand_in;

namespace {

Object the_driver;

// zexCounterBasedEventCreate2; what its descriptor says does not matter here.
ze_result_t create_counter_based_event(ze_context_handle_t, ze_device_handle_t, const void*,
                                       ze_event_handle_t* event) {
  *event = handle_of<ze_event_handle_t>(new Event(true));
  return ZE_RESULT_SUCCESS;
}

ze_result_t import_external_pointer(ze_driver_handle_t, void* pointer, std::size_t size) {
  return memory().import(pointer, size);
}

ze_result_t release_imported_pointer(ze_driver_handle_t, void* pointer) {
  return memory().release(pointer);
}

ze_result_t host_pointer_base(ze_driver_handle_t driver, void* pointer, void** base) {
  if (driver != handle_of<ze_driver_handle_t>(&the_driver)) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  const std::shared_ptr<Block> block = memory().around(pointer);
  if (!block || block->type != ZE_MEMORY_TYPE_HOST_IMPORTED)
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  if (base) *base = block->base;
  return ZE_RESULT_SUCCESS;
}

}  // namespace

ZE_API ze_result_t zeInit(std::uint32_t) { return ZE_RESULT_SUCCESS; }

ZE_API ze_result_t zeDriverGet(std::uint32_t* count, ze_driver_handle_t* drivers) {
  hand_out_one(count, drivers, [](ze_driver_handle_t& driver) {
    driver = handle_of<ze_driver_handle_t>(&the_driver);
  });
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeInitDrivers(std::uint32_t* count, ze_driver_handle_t* drivers,
                                 ze_init_driver_type_desc_t*) {
  return zeDriverGet(count, drivers);
}

ZE_API ze_result_t zeDriverGetApiVersion(ze_driver_handle_t, ze_api_version_t* version) {
  *version = ZE_MAKE_VERSION(1, 13);
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDriverGetProperties(ze_driver_handle_t, ze_driver_properties_t* p) {
  std::memset(p->uuid, 0x5a, sizeof p->uuid);
  p->driverVersion = (1u << 24) | (13u << 16) | 40000u;  // 1.13.40000
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDriverGetIpcProperties(ze_driver_handle_t, ze_driver_ipc_properties_t* p) {
  p->flags = ZE_IPC_PROPERTY_FLAG_MEMORY;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDriverGetExtensionProperties(ze_driver_handle_t, std::uint32_t* count,
                                                  ze_driver_extension_properties_t*) {
  *count = 0;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDriverGetExtensionFunctionAddress(ze_driver_handle_t, const char* name,
                                                       void** address) {
  static const std::map<std::string, void*> known{
      {"zexCounterBasedEventCreate2", reinterpret_cast<void*>(&create_counter_based_event)},
      {"zexDriverImportExternalPointer", reinterpret_cast<void*>(&import_external_pointer)},
      {"zexDriverGetHostPointerBaseAddress", reinterpret_cast<void*>(&host_pointer_base)},
      {"zexDriverReleaseImportedPointer", reinterpret_cast<void*>(&release_imported_pointer)},
  };
  const auto entry = known.find(name);
  *address = entry == known.end() ? nullptr : entry->second;
  return *address ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}
