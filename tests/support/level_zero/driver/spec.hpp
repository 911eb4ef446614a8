// The part of the Level Zero specification that the driver needs: its numbers and the layouts of
// its structs, under its names
// (https://oneapi-src.github.io/level-zero-spec/level-zero/latest/core/api.html). Fields that a
// caller fills in and the driver does not read are left out.
#pragma once

#include <cstddef>
#include <cstdint>

// A function that the adapters, or libumf, look up by its name.
#define ZE_API extern "C" __attribute__((visibility("default")))

// ---- results and other numbers ---------------------------------------------------------------

enum ze_result_t : std::uint32_t {
  ZE_RESULT_SUCCESS = 0,
  ZE_RESULT_NOT_READY = 1,
  ZE_RESULT_ERROR_DEVICE_LOST = 0x70000001,
  ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY = 0x70000002,
  ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY = 0x70000003,
  ZE_RESULT_ERROR_UNINITIALIZED = 0x78000001,
  ZE_RESULT_ERROR_UNSUPPORTED_FEATURE = 0x78000003,
  ZE_RESULT_ERROR_INVALID_ARGUMENT = 0x78000004,
  ZE_RESULT_ERROR_UNSUPPORTED_SIZE = 0x78000009,
  ZE_RESULT_ERROR_OVERLAPPING_REGIONS = 0x7800001a,
  ZE_RESULT_ERROR_ADDRESS_NOT_FOUND = 0x78000021,
};

enum ze_structure_type_t : std::uint32_t {
  ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 = 0x20006,
  ZE_STRUCTURE_TYPE_EU_COUNT_EXT = 0x10005,
  ZE_STRUCTURE_TYPE_DEVICE_LUID_EXT_PROPERTIES = 0x1000d,
  ZE_STRUCTURE_TYPE_DEVICE_IP_VERSION_EXT = 0x1000f,
  ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC = 0x20001,
  ZE_STRUCTURE_TYPE_COUNTER_BASED_EVENT_POOL_EXP_DESC = 0x20014,
  ZE_STRUCTURE_TYPE_DEVICE_CACHELINE_SIZE_EXT = 0x20028,
  ZE_STRUCTURE_TYPE_EXTERNAL_MEMMAP_SYSMEM_EXT_DESC = 0x20037,
  ZE_STRUCTURE_TYPE_DEVICE_USABLEMEM_SIZE_EXT_PROPERTIES = 0x20041,
};

enum ze_memory_type_t : std::uint32_t {
  ZE_MEMORY_TYPE_UNKNOWN,
  ZE_MEMORY_TYPE_HOST,
  ZE_MEMORY_TYPE_DEVICE,
  ZE_MEMORY_TYPE_SHARED,
  ZE_MEMORY_TYPE_HOST_IMPORTED,
};

enum ze_memory_advice_t : std::uint32_t {
  ZE_MEMORY_ADVICE_SET_READ_MOSTLY,
  ZE_MEMORY_ADVICE_CLEAR_READ_MOSTLY,
  ZE_MEMORY_ADVICE_SET_PREFERRED_LOCATION,
  ZE_MEMORY_ADVICE_CLEAR_PREFERRED_LOCATION,
};

enum ze_memory_access_attribute_t : std::uint32_t { ZE_MEMORY_ACCESS_ATTRIBUTE_NONE };

enum : std::uint32_t {
  ZE_DEVICE_TYPE_GPU = 1,
  ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS = 1,
  ZE_COMMAND_QUEUE_FLAG_IN_ORDER = 1 << 1,
  ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE = 1 << 1,
  ZE_DEVICE_MODULE_FLAG_FP16 = 1 << 0,
  ZE_DEVICE_MODULE_FLAG_FP64 = 1 << 1,
  ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS = 1 << 2,
  ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE = 1 << 0,
  ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY = 1 << 1,
  ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COOPERATIVE_KERNELS = 1 << 2,
  ZE_MEMORY_ACCESS_CAP_FLAG_RW = 1 << 0,
  ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC = 1 << 1,
  ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS = 1 << 0,
  ZE_IPC_PROPERTY_FLAG_MEMORY = 1 << 0,
};

using ze_bool_t = std::uint8_t;
using ze_api_version_t = std::uint32_t;
constexpr ze_api_version_t ZE_MAKE_VERSION(std::uint32_t major, std::uint32_t minor) {
  return major << 16 | minor;
}

// ---- handles ---------------------------------------------------------------------------------

using ze_driver_handle_t = struct ze_driver*;
using ze_device_handle_t = struct ze_device*;
using ze_context_handle_t = struct ze_context*;
using ze_command_list_handle_t = struct ze_command_list*;
using ze_event_pool_handle_t = struct ze_event_pool*;
using ze_event_handle_t = struct ze_event*;
using ze_physical_mem_handle_t = struct ze_physical_mem*;
using zes_driver_handle_t = struct zes_driver*;
using zes_device_handle_t = struct zes_device*;
using zes_mem_handle_t = struct zes_mem*;

struct ze_ipc_mem_handle_t {
  char data[64];
};

// ---- structs ---------------------------------------------------------------------------------

// The beginning of every struct with extensions, those that are handed in ("desc") as those that
// are filled ("properties").
struct ze_base_desc_t {
  ze_structure_type_t stype;
  ze_base_desc_t* pNext;
};
using ze_base_properties_t = ze_base_desc_t;

using ze_context_desc_t = ze_base_desc_t;
using ze_event_pool_desc_t = ze_base_desc_t;
using ze_event_desc_t = ze_base_desc_t;
using ze_device_mem_alloc_desc_t = ze_base_desc_t;
using ze_host_mem_alloc_desc_t = ze_base_desc_t;
using ze_memory_free_ext_desc_t = ze_base_desc_t;
using ze_init_driver_type_desc_t = ze_base_desc_t;
using ze_device_image_properties_t = ze_base_properties_t;

// Of the system management (sysman) part.
struct zes_uuid_t {
  std::uint8_t id[16];
};

struct zes_mem_properties_t : ze_base_properties_t {
  std::uint32_t type;
  ze_bool_t onSubdevice;
  std::uint32_t subdeviceId, location;
  std::uint64_t physicalSize;
  std::int32_t busWidth, numChannels;
};

struct zes_mem_state_t : ze_base_properties_t {
  std::uint32_t health;
  std::uint64_t free, size;
};

struct ze_command_queue_desc_t : ze_base_desc_t {
  std::uint32_t ordinal, index, flags, mode, priority;
};

struct ze_physical_mem_desc_t : ze_base_desc_t {
  std::uint32_t flags;
  std::size_t size;
};

struct ze_driver_extension_properties_t {
  char name[256];
  std::uint32_t version;
};

struct ze_external_memmap_sysmem_ext_desc_t : ze_base_desc_t {
  void* pSystemMemory;
  std::uint64_t size;
};

struct ze_driver_properties_t : ze_base_properties_t {
  std::uint8_t uuid[16];
  std::uint32_t driverVersion;
};

struct ze_driver_ipc_properties_t : ze_base_properties_t {
  std::uint32_t flags;
};

struct ze_device_ip_version_ext_t : ze_base_properties_t {
  std::uint32_t ipVersion;
};

struct ze_eu_count_ext_t : ze_base_properties_t {
  std::uint32_t numTotalEUs;
};

struct ze_device_usablemem_size_ext_properties_t : ze_base_properties_t {
  std::uint64_t currUsableMemSize;
};

struct ze_device_cache_properties_t : ze_base_properties_t {
  std::uint32_t flags;
  std::size_t cacheSize;
};

struct ze_device_cache_line_size_ext_t : ze_base_properties_t {
  std::size_t cacheLineSize;
};

struct ze_vector_widths_t {
  std::uint32_t of_char, of_short, of_int, of_long, of_float, of_double, of_half;
};

struct ze_device_vector_width_properties_ext_t : ze_base_properties_t {
  std::uint32_t vector_width_size;
  ze_vector_widths_t preferred, native;
};

struct ze_device_properties_t : ze_base_properties_t {
  std::uint32_t type, vendorId, deviceId, flags, subdeviceId, coreClockRate;
  std::uint64_t maxMemAllocSize;
  std::uint32_t maxHardwareContexts, maxCommandQueuePriority;
  std::uint32_t numThreadsPerEU, physicalEUSimdWidth, numEUsPerSubslice, numSubslicesPerSlice;
  std::uint32_t numSlices;
  std::uint64_t timerResolution;
  std::uint32_t timestampValidBits, kernelTimestampValidBits;
  std::uint8_t uuid[16];
  char name[256];
};

struct ze_device_compute_properties_t : ze_base_properties_t {
  std::uint32_t maxTotalGroupSize, maxGroupSizeX, maxGroupSizeY, maxGroupSizeZ;
  std::uint32_t maxGroupCountX, maxGroupCountY, maxGroupCountZ;
  std::uint32_t maxSharedLocalMemory, numSubGroupSizes, subGroupSizes[8];
};

struct ze_device_module_properties_t : ze_base_properties_t {
  std::uint32_t spirvVersionSupported, flags, fp16flags, fp32flags, fp64flags;
  std::uint32_t maxArgumentsSize, printfBufferSize;
  std::uint8_t nativeKernelSupported[16];
};

struct ze_command_queue_group_properties_t : ze_base_properties_t {
  std::uint32_t flags;
  std::size_t maxMemoryFillPatternSize;
  std::uint32_t numQueues;
};

struct ze_device_memory_properties_t : ze_base_properties_t {
  std::uint32_t flags, maxClockRate, maxBusWidth;
  std::uint64_t totalSize;
  char name[256];
};

struct ze_device_memory_access_properties_t : ze_base_properties_t {
  std::uint32_t hostAllocCapabilities, deviceAllocCapabilities;
  std::uint32_t sharedSingleDeviceAllocCapabilities, sharedCrossDeviceAllocCapabilities;
  std::uint32_t sharedSystemAllocCapabilities;
};

struct ze_device_p2p_properties_t : ze_base_properties_t {
  std::uint32_t flags;
};

struct ze_pci_ext_properties_t : ze_base_properties_t {
  struct {
    std::uint32_t domain, bus, device, function;
  } address;
  struct {
    std::int32_t genVersion, width;
    std::int64_t maxBandwidth;
  } maxSpeed;
};

struct ze_memory_allocation_properties_t : ze_base_properties_t {
  ze_memory_type_t type;
  std::uint64_t id, pageSize;
};

struct zel_component_version_t {
  char component_name[64];
  ze_api_version_t spec_version;
  struct {
    int major, minor, patch;
  } component_lib_version;
};
