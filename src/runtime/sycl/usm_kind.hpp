// SPDX-License-Identifier: Apache-2.0
// The kinds of unified shared memory, and which of them the host can reach.
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace sycl_ext {

class Entry;  // device_table.hpp

// A kind is a place here, a row of the table in usm_kind.cpp, and a number in c_api.h.  The last
// one is host memory that a device reads; the runtime allocates those before it.
enum class UsmKind : unsigned char { device, shared, host, system };
constexpr std::array<UsmKind, 3> allocated_kinds{UsmKind::device, UsmKind::shared, UsmKind::host};
constexpr std::size_t usm_kind_count = allocated_kinds.size() + 1;

const char* usm_kind_name(UsmKind kind) noexcept;  // "device", ...
UsmKind usm_kind_named(const std::string& name);   // Error(value) for another word

// Whether the device has USM of that kind.
bool has_usm(const Entry& entry, UsmKind kind) noexcept;

// Whether the host may read and write memory of this kind on this entry.
bool host_accessible(UsmKind kind, const Entry* entry) noexcept;

}  // namespace sycl_ext
