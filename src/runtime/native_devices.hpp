// SPDX-License-Identifier: Apache-2.0
// Devices that SYCL reaches through CUDA or HIP: DLPack has names for them, which libraries without
// SYCL use.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/device_table.hpp"
#include "runtime/usm_kind.hpp"

namespace sycl_ext {

// A device as DLPack says it; the type is a DLDeviceType.
struct NativeDevice {
  std::int32_t type, id;
};

// What memory of a kind on an entry is for such a library; empty: the backend is another one, or
// DLPack has no name for it.
std::optional<NativeDevice> native_device(const Entry& entry, UsmKind kind) noexcept;
// Whether DLPack's type names memory of such a library.
bool is_native_type(int type) noexcept;
// The root device with this name; nullptr: there is none.
const Entry* entry_of_native(NativeDevice device);
// The kind of USM that the type names.
UsmKind kind_of_native(int type);
// The stream of that library behind the queue of such an entry, to which others can submit from now
// on.
std::uintptr_t native_stream(const Entry& entry);

}  // namespace sycl_ext
