// SPDX-License-Identifier: Apache-2.0
// The kinds of unified shared memory, and which of them the host can always reach.
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace sycl_ext {

// A kind is an enumerator here, a row of the tables in usm_kind.cpp and usm_aspects.cpp, and a
// number in c_api.h.  The last kind is host memory that a device reads; the runtime allocates the
// others.
enum class UsmKind : unsigned char { device, shared, host, system };
constexpr std::array<UsmKind, 3> allocated_kinds{UsmKind::device, UsmKind::shared, UsmKind::host};
constexpr std::size_t usm_kind_count = allocated_kinds.size() + 1;
static_assert(static_cast<std::size_t>(UsmKind::system) + 1 == usm_kind_count);

const char* usm_kind_name(UsmKind kind) noexcept;  // "device", ...
UsmKind usm_kind_named(const std::string& name);   // Error(value) for another word

// Whether the host can reach memory of this kind on every device that has it.
bool is_on_host(UsmKind kind) noexcept;

}  // namespace sycl_ext
