// Entry points of the device tree: enumeration, partition into tiles, clock, peer access.
#include "device.hpp"

#include <chrono>

#include "answer.hpp"
#include "settings.hpp"

namespace fakegpu {

const std::vector<ur_device_handle_t>& root_devices() {
  static const auto* roots = [] {
    auto* all = new std::vector<ur_device_handle_t>;
    for (int gpu = 0; gpu < settings().devices; ++gpu) {
      auto* root = new ur_device_handle_t_;
      root->gpu = gpu;
      for (int tile = 0; tile < settings().tiles; ++tile) {
        auto* part = new ur_device_handle_t_;
        part->gpu = gpu;
        part->tile = tile;
        part->parent = root;
        root->tiles.push_back(part);
      }
      all->push_back(root);
    }
    return all;
  }();
  return *roots;
}

uint64_t now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

namespace {

ur_result_t list(const std::vector<ur_device_handle_t>& devices, uint32_t room,
                 ur_device_handle_t* out, uint32_t* count) {
  for (uint32_t i = 0; out && i < room && i < devices.size(); ++i) out[i] = devices[i];
  if (count) *count = static_cast<uint32_t>(devices.size());
  return UR_RESULT_SUCCESS;
}

ur_result_t device_get(ur_platform_handle_t, ur_device_type_t type, uint32_t room,
                       ur_device_handle_t* out, uint32_t* count) {
  const bool gpu =
      type == UR_DEVICE_TYPE_ALL || type == UR_DEVICE_TYPE_GPU || type == UR_DEVICE_TYPE_DEFAULT;
  return list(gpu ? root_devices() : std::vector<ur_device_handle_t>{}, room, out, count);
}

// Always the same tiles in the same order, as Level Zero does.
ur_result_t device_partition(ur_device_handle_t device,
                             const ur_device_partition_properties_t* properties, uint32_t room,
                             ur_device_handle_t* out, uint32_t* count) {
  if (device->tiles.empty()) return UR_RESULT_ERROR_DEVICE_PARTITION_FAILED;
  if (properties->PropCount != 1 ||
      properties->pProperties[0].type != UR_DEVICE_PARTITION_BY_AFFINITY_DOMAIN)
    return UR_RESULT_ERROR_INVALID_VALUE;
  return list(device->tiles, room, out, count);
}

ur_result_t device_select_binary(ur_device_handle_t, const ur_device_binary_t*, uint32_t,
                                 uint32_t*) {
  return UR_RESULT_ERROR_INVALID_BINARY;  // no kernels here
}

ur_result_t device_timestamps(ur_device_handle_t, uint64_t* device, uint64_t* host) {
  const uint64_t t = now();
  if (device) *device = t;
  if (host) *host = t;
  return UR_RESULT_SUCCESS;
}

ur_result_t peer_info(ur_device_handle_t device, ur_device_handle_t peer, ur_exp_peer_info_t,
                      size_t capacity, void* target, size_t* size) {
  const bool reaches = settings().p2p && (!settings().one_way_p2p || peer->gpu < device->gpu);
  return Answer(capacity, target, size).value<int>(reaches);
}

// Peer access needs no switching: whether a copy may be direct is decided copy by copy.
ur_result_t peer_switch(ur_device_handle_t, ur_device_handle_t) {
  return settings().p2p ? UR_RESULT_SUCCESS : UR_RESULT_ERROR_INVALID_OPERATION;
}

// The number of a device in CUDA and HIP.
ur_result_t device_native_handle(ur_device_handle_t device, ur_native_handle_t* out) {
  if (settings().backend == UR_BACKEND_LEVEL_ZERO) return native_handle(device, out);
  *out = static_cast<ur_native_handle_t>(device->gpu);
  return UR_RESULT_SUCCESS;
}

}  // namespace

void fill_device_tables(ur_dditable_t& table) {
  table.Device.pfnGet = device_get;
  table.Device.pfnGetInfo = device_info;
  table.Device.pfnRetain = immortal;
  table.Device.pfnRelease = immortal;
  table.Device.pfnPartition = device_partition;
  table.Device.pfnSelectBinary = device_select_binary;
  table.Device.pfnGetNativeHandle = device_native_handle;
  table.Device.pfnGetGlobalTimestamps = device_timestamps;

  table.UsmP2PExp.pfnPeerAccessGetInfoExp = peer_info;
  table.UsmP2PExp.pfnEnablePeerAccessExp = peer_switch;
  table.UsmP2PExp.pfnDisablePeerAccessExp = peer_switch;
}

}  // namespace fakegpu
