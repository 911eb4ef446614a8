// SPDX-License-Identifier: Apache-2.0
// The kinds of unified shared memory, and which of them the host can reach.
#pragma once

#include "runtime/device_table.hpp"

namespace sycl_ext {

enum class UsmKind : unsigned char { device, shared, host, system };

const char* usm_kind_name(UsmKind kind) noexcept;  // "device", ...
UsmKind usm_kind_named(const char* name);          // Error(value) for another word

// Whether the device has USM of that kind.
bool has_usm(const Entry& entry, UsmKind kind) noexcept;

// Whether the host may read and write memory of this kind on this entry.
bool host_accessible(UsmKind kind, const Entry* entry) noexcept;

}  // namespace sycl_ext
