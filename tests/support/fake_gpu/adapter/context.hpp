// A context: the devices it lists, and which others it reaches.
// Knows devices.
#pragma once

#include "device.hpp"

struct ur_context_handle_t_ : fakegpu::Handle {
  std::vector<ur_device_handle_t> devices;

  bool lists(ur_device_handle_t device) const;

  // May a queue or an allocation of this context be on that device? On Level Zero a context is
  // good for the tiles of the GPUs it lists; on OpenCL (strict) for what it lists and no more.
  bool reaches(ur_device_handle_t device) const;
};
