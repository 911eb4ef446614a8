// The Level Zero specification: the headers of Debian's libze-dev (1.8), and by hand what later
// versions of the specification add and the adapters use.
#pragma once

#include <level_zero/ze_api.h>

#include <cstdint>

// A function that the adapters, or libumf, look up by its name.
#define ZE_API extern "C" __attribute__((visibility("default")))

// ---- extensions whose structs the headers do not have ----------------------------------------

constexpr auto kIpVersion = static_cast<ze_structure_type_t>(0x1000f);
struct IpVersion {  // ze_device_ip_version_ext_t
  ze_structure_type_t stype;
  void* pNext;
  std::uint32_t ipVersion;
};

constexpr auto kCounterBasedEventPoolDesc = static_cast<ze_structure_type_t>(0x00020014);

// ---- since 1.10 ------------------------------------------------------------------------------

struct ze_init_driver_type_desc_t;

ZE_API ze_result_t zeInitDrivers(std::uint32_t* count, ze_driver_handle_t* drivers,
                                 ze_init_driver_type_desc_t* desc);

// ---- since 1.13 and 1.14 ---------------------------------------------------------------------

ZE_API ze_result_t zeDeviceSynchronize(ze_device_handle_t device);
ZE_API ze_context_handle_t zeDriverGetDefaultContext(ze_driver_handle_t driver);

constexpr auto kHostImported = static_cast<ze_memory_type_t>(4);  // ZE_MEMORY_TYPE_HOST_IMPORTED
