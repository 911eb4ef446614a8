// The one adapter, the one platform, and the tree of GPUs and tiles, all made once and kept.
// Knows handles.
#pragma once

#include <memory>
#include <vector>

#include "handle.hpp"

struct ur_adapter_handle_t_ : fakegpu::Handle {};

struct ur_platform_handle_t_ : fakegpu::Handle {};

struct ur_device_handle_t_ : fakegpu::Handle {
  int gpu = 0;
  int tile = -1;                        // -1: a whole GPU
  ur_device_handle_t parent = nullptr;  // null: a whole GPU
  std::vector<ur_device_handle_t> tiles;
  std::atomic<size_t> bytes_in_use{0};  // counted on the root: tiles share its memory

  bool is_root() const { return !parent; }
  ur_device_handle_t root() { return parent ? parent : this; }
};

namespace fakegpu {

ur_adapter_handle_t the_adapter();
ur_platform_handle_t the_platform();
const std::vector<ur_device_handle_t>& root_devices();
uint64_t now();  // the device clock, in nanoseconds

// device_info.cpp
ur_result_t device_info(ur_device_handle_t device, ur_device_info_t name, size_t capacity,
                        void* target, size_t* size);

}  // namespace fakegpu
