// The extensions of the driver: its list, and the functions that Intel's driver has beyond the
// specification.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "driver.hpp"
#include "event.hpp"
#include "memory.hpp"

using namespace stand_in;

namespace {

// Those of Intel's driver that the adapters look for, without what needs kernels, lists that are
// recorded, or semaphores.  They have the version 1.0.
constexpr const char* kExtensions[] = {
    "ZE_extension_bfloat16_conversions",
    "ZE_extension_device_cache_line_size",
    "ZE_extension_device_luid",
    "ZE_extension_device_usablemem_size_properties",
    "ZE_extension_device_vector_sizes",
    "ZE_extension_eu_count",
    "ZE_extension_external_memmap_sysmem",
    "ZE_experimental_event_pool_counter_based",
    "ZE_intel_get_driver_version_string",
    "ZEX_intel_experimental_queue_copy_operations_offload_hint",
};

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
  if (driver != the_driver()) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  const std::shared_ptr<Block> block = memory().around(pointer);
  if (!block || block->type != ZE_MEMORY_TYPE_HOST_IMPORTED)
    return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  if (base) *base = block->base;
  return ZE_RESULT_SUCCESS;
}

// The size without the zero at the end, and the text up to that size.
ze_result_t version_string(ze_driver_handle_t, char* text, std::size_t* size) {
  if (text) std::memcpy(text, kVersion, std::min(*size, std::strlen(kVersion)));
  *size = std::strlen(kVersion);
  return ZE_RESULT_SUCCESS;
}

}  // namespace

ZE_API ze_result_t zeDriverGetExtensionProperties(ze_driver_handle_t, std::uint32_t* count,
                                                  ze_driver_extension_properties_t* to) {
  hand_out_each(kExtensions, count, to, [](const char* name, ze_driver_extension_properties_t& p) {
    std::snprintf(p.name, sizeof p.name, "%s", name);
    p.version = ZE_MAKE_VERSION(1, 0);
  });
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDriverGetExtensionFunctionAddress(ze_driver_handle_t, const char* name,
                                                       void** address) {
  static const std::map<std::string, void*> known{
      {"zexCounterBasedEventCreate2", reinterpret_cast<void*>(&create_counter_based_event)},
      {"zexDriverImportExternalPointer", reinterpret_cast<void*>(&import_external_pointer)},
      {"zexDriverGetHostPointerBaseAddress", reinterpret_cast<void*>(&host_pointer_base)},
      {"zexDriverReleaseImportedPointer", reinterpret_cast<void*>(&release_imported_pointer)},
      {"zeIntelGetDriverVersionString", reinterpret_cast<void*>(&version_string)},
  };
  const auto entry = known.find(name);
  *address = entry == known.end() ? nullptr : entry->second;
  return *address ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}
