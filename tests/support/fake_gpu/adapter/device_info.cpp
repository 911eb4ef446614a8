// What a GPU or a tile says about itself.
#include <algorithm>

#include "answer.hpp"
#include "device.hpp"
#include "settings.hpp"

namespace fakegpu {
namespace {

constexpr uint32_t kComputeUnits = 64;
constexpr uint32_t kVendorIntel = 0x8086;
constexpr ur_device_usm_access_capability_flags_t kFullAccess =
    UR_DEVICE_USM_ACCESS_CAPABILITY_FLAG_ACCESS |
    UR_DEVICE_USM_ACCESS_CAPABILITY_FLAG_ATOMIC_ACCESS |
    UR_DEVICE_USM_ACCESS_CAPABILITY_FLAG_CONCURRENT_ACCESS |
    UR_DEVICE_USM_ACCESS_CAPABILITY_FLAG_ATOMIC_CONCURRENT_ACCESS;
constexpr ur_device_fp_capability_flags_t kPlainFloat =
    UR_DEVICE_FP_CAPABILITY_FLAG_CORRECTLY_ROUNDED_DIVIDE_SQRT |
    UR_DEVICE_FP_CAPABILITY_FLAG_ROUND_TO_NEAREST | UR_DEVICE_FP_CAPABILITY_FLAG_ROUND_TO_ZERO |
    UR_DEVICE_FP_CAPABILITY_FLAG_ROUND_TO_INF;

std::string device_name(ur_device_handle_t device) {
  std::string name = "Fake GPU " + std::to_string(device->gpu);
  if (!device->is_root()) name += "." + std::to_string(device->tile);
  return name;
}

ur_result_t uuid(ur_device_handle_t device, const Answer& answer) {
  const unsigned char id[16] = {0xfa, 0x4e, static_cast<unsigned char>(device->gpu),
                                static_cast<unsigned char>(device->tile + 1)};
  return answer.bytes(id, sizeof id);
}

ur_result_t partitions(ur_device_handle_t device, const Answer& answer) {
  if (device->tiles.empty()) return answer.nothing();
  return answer.value<ur_device_partition_t>(UR_DEVICE_PARTITION_BY_AFFINITY_DOMAIN);
}

ur_result_t affinity_domains(ur_device_handle_t device, const Answer& answer) {
  return answer.value<ur_device_affinity_domain_flags_t>(
      device->tiles.empty() ? 0
                            : UR_DEVICE_AFFINITY_DOMAIN_FLAG_NUMA |
                                  UR_DEVICE_AFFINITY_DOMAIN_FLAG_NEXT_PARTITIONABLE);
}

ur_result_t made_by(ur_device_handle_t device, const Answer& answer) {
  if (device->is_root()) return answer.nothing();
  ur_device_partition_property_t partition{};
  partition.type = UR_DEVICE_PARTITION_BY_AFFINITY_DOMAIN;
  partition.value.affinity_domain = UR_DEVICE_AFFINITY_DOMAIN_FLAG_NEXT_PARTITIONABLE;
  return answer.value(partition);
}

}  // namespace

ur_result_t device_info(ur_device_handle_t device, ur_device_info_t name, size_t capacity,
                        void* target, size_t* size) {
  const Answer answer(capacity, target, size);
  switch (name) {
    // who it is
    case UR_DEVICE_INFO_TYPE:
      return answer.value<ur_device_type_t>(UR_DEVICE_TYPE_GPU);
    case UR_DEVICE_INFO_NAME:
      return answer.text(device_name(device));
    case UR_DEVICE_INFO_VENDOR:
      return answer.text("fakegpu");
    case UR_DEVICE_INFO_DRIVER_VERSION:
      return answer.text("1.0.0");
    case UR_DEVICE_INFO_VERSION:
      return answer.text("1.0");
    case UR_DEVICE_INFO_PROFILE:
    case UR_DEVICE_INFO_BUILT_IN_KERNELS:
      return answer.text("");
    case UR_DEVICE_INFO_VENDOR_ID:
    case UR_DEVICE_INFO_DEVICE_ID:
      return answer.value<uint32_t>(kVendorIntel);
    case UR_DEVICE_INFO_UUID:
      return uuid(device, answer);
    case UR_DEVICE_INFO_PCI_ADDRESS:
      return answer.text("0000:0" + std::to_string(device->gpu) + ":00.0");

    // where it stands in the tree
    case UR_DEVICE_INFO_PLATFORM:
      return answer.value(the_platform());
    case UR_DEVICE_INFO_PARENT_DEVICE:
      return answer.value(device->parent);
    case UR_DEVICE_INFO_REFERENCE_COUNT:
      return answer.value<uint32_t>(1);
    case UR_DEVICE_INFO_SUPPORTED_PARTITIONS:
      return partitions(device, answer);
    case UR_DEVICE_INFO_PARTITION_MAX_SUB_DEVICES:
      return answer.value(static_cast<uint32_t>(device->tiles.size()));
    case UR_DEVICE_INFO_PARTITION_AFFINITY_DOMAIN:
      return affinity_domains(device, answer);
    case UR_DEVICE_INFO_PARTITION_TYPE:
      return made_by(device, answer);

    // what it can do
    case UR_DEVICE_INFO_AVAILABLE:
    case UR_DEVICE_INFO_ENDIAN_LITTLE:
    case UR_DEVICE_INFO_COMPILER_AVAILABLE:
    case UR_DEVICE_INFO_LINKER_AVAILABLE:
    case UR_DEVICE_INFO_ATOMIC_64:
      return answer.value<ur_bool_t>(true);
    case UR_DEVICE_INFO_QUEUE_PROPERTIES:
    case UR_DEVICE_INFO_QUEUE_ON_HOST_PROPERTIES:
    case UR_DEVICE_INFO_QUEUE_ON_DEVICE_PROPERTIES:
      return answer.value<ur_queue_flags_t>(UR_QUEUE_FLAG_PROFILING_ENABLE |
                                            UR_QUEUE_FLAG_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    case UR_DEVICE_INFO_EXTENSIONS:
      return answer.text(settings().fp64 ? "cl_khr_fp16 cl_khr_fp64" : "cl_khr_fp16");
    case UR_DEVICE_INFO_SINGLE_FP_CONFIG:
    case UR_DEVICE_INFO_HALF_FP_CONFIG:
      return answer.value(kPlainFloat);
    case UR_DEVICE_INFO_DOUBLE_FP_CONFIG:
      return answer.value<ur_device_fp_capability_flags_t>(settings().fp64 ? kPlainFloat : 0);
    case UR_DEVICE_INFO_MAX_WORK_GROUP_SIZE:
      return answer.value<size_t>(1024);
    case UR_DEVICE_INFO_SUB_GROUP_SIZES_INTEL:
      return answer.value<uint32_t>(32);
    case UR_DEVICE_INFO_MAX_COMPUTE_UNITS: {
      const size_t tiles = device->root()->tiles.size();
      return answer.value<uint32_t>(device->is_root() ? kComputeUnits : kComputeUnits / tiles);
    }

    // what it holds
    case UR_DEVICE_INFO_GLOBAL_MEM_SIZE:
    case UR_DEVICE_INFO_MAX_MEM_ALLOC_SIZE:
      return answer.value<uint64_t>(settings().memory);
    case UR_DEVICE_INFO_GLOBAL_MEM_FREE:
      return answer.value<uint64_t>(
          settings().memory - std::min(settings().memory, device->root()->bytes_in_use.load()));
    case UR_DEVICE_INFO_USM_HOST_SUPPORT:
    case UR_DEVICE_INFO_USM_DEVICE_SUPPORT:
    case UR_DEVICE_INFO_USM_SINGLE_SHARED_SUPPORT:
      return answer.value(kFullAccess);
    case UR_DEVICE_INFO_USM_CROSS_SHARED_SUPPORT:
    case UR_DEVICE_INFO_USM_SYSTEM_SHARED_SUPPORT:
      return answer.value<ur_device_usm_access_capability_flags_t>(0);
    case UR_DEVICE_INFO_IPC_MEMORY_SUPPORT_EXP:
      return answer.value<ur_bool_t>(settings().ipc);

    default:
      return answer.zeros();
  }
}

}  // namespace fakegpu
