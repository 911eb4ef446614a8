// SPDX-License-Identifier: Apache-2.0
// The meaning of DLPack devices: the host, an entry of the device table, or a device that
// SYCL reaches through CUDA or HIP, under the name that libraries without SYCL use.
#pragma once

#include <dlpack/dlpack.h>

#include <cstdint>
#include <optional>

#include "runtime/devices/device_table.hpp"

namespace sycl_ext {

// The one rule for which DLPack devices are the host: (1, any id), and pinned or managed memory of
// CUDA and ROCm where the host can read its addresses.
struct NamedDevice {
  bool is_host = false;
  bool may_be_host = false;       // where `host_reads` the memory
  const Entry* entry = nullptr;   // nullptr: the host, or there is no such device
  std::optional<UsmKind> kind{};  // of a device type of CUDA or ROCm
};
NamedDevice resolve(DLDevice device);

// Whether the host can read the first and the last byte.
bool host_reads(const std::byte* first, std::size_t nbytes) noexcept;

// The stream of CUDA or HIP behind the queue of such an entry.  From then on other code can submit
// to the queue.
std::uintptr_t native_stream(const Entry& entry);

}  // namespace sycl_ext
