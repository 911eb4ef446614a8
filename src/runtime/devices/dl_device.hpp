// SPDX-License-Identifier: Apache-2.0
// The meaning of DLPack devices: the host, an entry of the device table, or a device that
// SYCL reaches through CUDA or HIP, under the name that libraries without SYCL use.
#pragma once

#include <dlpack/dlpack.h>

#include <cstdint>
#include <optional>

#include "runtime/devices/device_table.hpp"

namespace sycl_ext {

struct NamedDevice {
  bool is_host = false;
  const Entry* entry = nullptr;   // nullptr: the host, or there is no such device
  std::optional<UsmKind> kind{};  // of a device type of CUDA or ROCm
};
NamedDevice resolve(DLDevice device);

// The stream of CUDA or HIP behind the queue of such an entry, to which others can submit from now
// on.
std::uintptr_t native_stream(const Entry& entry);

}  // namespace sycl_ext
