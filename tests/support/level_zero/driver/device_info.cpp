// The properties of a device.
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "clock.hpp"
#include "device.hpp"
#include "memory.hpp"
#include "settings.hpp"

using namespace stand_in;

// Battlemage, which gets the adapter v2 when nobody says which.
constexpr std::uint32_t kIpVersion = 0x05004000;

// A tile has its share of the card's memory.
static std::uint64_t memory_of(const Device& device) {
  const std::size_t tiles = device.parent ? device.parent->tiles.size() : 1;
  return settings().memory / tiles;
}

static std::uint64_t free_memory_of(const Device& device) {
  const std::uint64_t tiles = settings().memory / memory_of(device);
  return memory_of(device) - memory().used_on(device.card) / tiles;
}

// Fills a struct of an extension that hangs on the properties.
static ze_result_t extend(const Device& device, const ze_device_properties_t& properties,
                          ze_base_properties_t* extension) {
  switch (extension->stype) {
    case ZE_STRUCTURE_TYPE_DEVICE_IP_VERSION_EXT:
      static_cast<ze_device_ip_version_ext_t*>(extension)->ipVersion = kIpVersion;
      return ZE_RESULT_SUCCESS;
    case ZE_STRUCTURE_TYPE_EU_COUNT_EXT:
      static_cast<ze_eu_count_ext_t*>(extension)->numTotalEUs =
          properties.numEUsPerSubslice * properties.numSubslicesPerSlice * properties.numSlices;
      return ZE_RESULT_SUCCESS;
    case ZE_STRUCTURE_TYPE_DEVICE_USABLEMEM_SIZE_EXT_PROPERTIES:
      static_cast<ze_device_usablemem_size_ext_properties_t*>(extension)->currUsableMemSize =
          free_memory_of(device);
      return ZE_RESULT_SUCCESS;
    case ZE_STRUCTURE_TYPE_DEVICE_LUID_EXT_PROPERTIES:  // Windows has them
      return ZE_RESULT_ERROR_UNINITIALIZED;
    default:
      return ZE_RESULT_SUCCESS;
  }
}

ZE_API ze_result_t zeDeviceGetProperties(ze_device_handle_t handle, ze_device_properties_t* p) {
  const Device& device = of<Device>(handle);
  p->type = ZE_DEVICE_TYPE_GPU;
  p->vendorId = 0x8086;
  p->deviceId = 0x0bd5;  // Ponte Vecchio
  // FLAT: a tile passes for a device without parts.
  const bool is_sub_device = !is_root(device);
  p->flags = is_sub_device ? ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE : 0;
  p->subdeviceId = is_sub_device ? static_cast<std::uint32_t>(device.tile) : 0;
  p->coreClockRate = 1000;
  p->maxMemAllocSize = memory_of(device);
  p->maxHardwareContexts = 64;
  p->numThreadsPerEU = 8;
  p->physicalEUSimdWidth = 16;
  p->numEUsPerSubslice = 8;
  p->numSubslicesPerSlice = 8;
  p->numSlices = 1;
  // Nanoseconds for a tick in 1.0, ticks for a second since 1.2.
  p->timerResolution = p->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 ? 1000000000 : 1;
  p->timestampValidBits = kTimestampBits;
  p->kernelTimestampValidBits = kTimestampBits;
  std::memset(p->uuid, 0, sizeof p->uuid);
  p->uuid[0] = 0x86;
  p->uuid[1] = 0x80;
  p->uuid[2] = p->deviceId & 0xff;
  p->uuid[3] = p->deviceId >> 8;
  p->uuid[4] = 7;  // the revision
  p->uuid[8] = static_cast<std::uint8_t>(device.card + 1);
  p->uuid[15] = static_cast<std::uint8_t>(device.tile + 1);
  if (device.parent)
    std::snprintf(p->name, sizeof p->name, "Fake GPU %d.%d", device.card, device.tile);
  else
    std::snprintf(p->name, sizeof p->name, "Fake GPU %d", device.card);
  ze_result_t result = ZE_RESULT_SUCCESS;
  for (ze_base_properties_t* next = p->pNext; next && !result; next = next->pNext)
    result = extend(device, *p, next);
  return result;
}

ZE_API ze_result_t zeDeviceGetCacheProperties(ze_device_handle_t, std::uint32_t* count,
                                              ze_device_cache_properties_t* to) {
  hand_out_one(count, to, [](ze_device_cache_properties_t& p) {
    p.flags = 0;
    p.cacheSize = 1024;
    for (ze_base_properties_t* next = p.pNext; next; next = next->pNext)
      if (next->stype == ZE_STRUCTURE_TYPE_DEVICE_CACHELINE_SIZE_EXT)
        static_cast<ze_device_cache_line_size_ext_t*>(next)->cacheLineSize = 64;
  });
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDeviceGetVectorWidthPropertiesExt(
    ze_device_handle_t, std::uint32_t* count, ze_device_vector_width_properties_ext_t* to) {
  hand_out_one(count, to, [](ze_device_vector_width_properties_ext_t& p) {
    p.vector_width_size = 16;
    p.preferred = p.native = {16, 8, 4, 1, 1, 0, 8};
  });
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDeviceGetComputeProperties(ze_device_handle_t,
                                                ze_device_compute_properties_t* p) {
  p->maxTotalGroupSize = 1024;
  p->maxGroupSizeX = p->maxGroupSizeY = p->maxGroupSizeZ = 1024;
  p->maxGroupCountX = p->maxGroupCountY = p->maxGroupCountZ = 1u << 31;
  p->maxSharedLocalMemory = 64 << 10;
  p->numSubGroupSizes = 2;
  p->subGroupSizes[0] = 16;
  p->subGroupSizes[1] = 32;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDeviceGetModuleProperties(ze_device_handle_t,
                                               ze_device_module_properties_t* p) {
  p->spirvVersionSupported = ZE_MAKE_VERSION(1, 4);
  p->flags = ZE_DEVICE_MODULE_FLAG_FP16 | ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS;
  if (settings().fp64) p->flags |= ZE_DEVICE_MODULE_FLAG_FP64;
  p->fp16flags = p->fp32flags = p->fp64flags = 0x3f;
  p->maxArgumentsSize = 2048;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDeviceGetCommandQueueGroupProperties(ze_device_handle_t, std::uint32_t* count,
                                                          ze_command_queue_group_properties_t* to) {
  struct Group {
    std::uint32_t flags;
    std::size_t largest_pattern;
    int queues;
  };
  constexpr std::uint32_t kCopies = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
  constexpr std::uint32_t kAll = kCopies | ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE |
                                 ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COOPERATIVE_KERNELS;
  const Group groups[] = {
      {kAll, SIZE_MAX, settings().cslices},
      {kCopies, 1, 1},  // the main copy engine
      {kCopies, 1, 8},  // the link copy engines
  };
  hand_out_each(groups, count, to, [](const Group& group, ze_command_queue_group_properties_t& p) {
    p.flags = group.flags;
    p.maxMemoryFillPatternSize = group.largest_pattern;
    p.numQueues = static_cast<std::uint32_t>(group.queues);
  });
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDeviceGetMemoryProperties(ze_device_handle_t handle, std::uint32_t* count,
                                               ze_device_memory_properties_t* to) {
  hand_out_one(count, to, [handle](ze_device_memory_properties_t& p) {
    p.flags = 0;
    p.maxClockRate = 3200;
    p.maxBusWidth = 64;
    p.totalSize = memory_of(of<Device>(handle));
    std::snprintf(p.name, sizeof p.name, "HBM");
  });
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDeviceGetMemoryAccessProperties(ze_device_handle_t,
                                                     ze_device_memory_access_properties_t* p) {
  const auto plain = ZE_MEMORY_ACCESS_CAP_FLAG_RW | ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC;
  p->hostAllocCapabilities = ZE_MEMORY_ACCESS_CAP_FLAG_RW;
  p->deviceAllocCapabilities = plain;
  p->sharedSingleDeviceAllocCapabilities = plain;
  p->sharedCrossDeviceAllocCapabilities = settings().peers ? plain : 0;
  p->sharedSystemAllocCapabilities = settings().system_usm ? plain : 0;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDeviceGetImageProperties(ze_device_handle_t, ze_device_image_properties_t*) {
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDevicePciGetPropertiesExt(ze_device_handle_t handle,
                                               ze_pci_ext_properties_t* p) {
  std::memset(&p->address, 0, sizeof p->address);
  p->address.bus = static_cast<std::uint32_t>(of<Device>(handle).card + 1);
  return ZE_RESULT_SUCCESS;
}
