// SPDX-License-Identifier: Apache-2.0
// Queries to the Level Zero driver of an entry that have no counterpart in SYCL.
#pragma once

#include <optional>

#include "runtime/devices/device_table.hpp"

namespace sycl_ext {

// Whether the driver shares memory between processes, which the aspect of the device does not say.
// True if the entry does not use Level Zero.
bool shares_memory(const Entry& entry) noexcept;

// Whether the driver reports that the device of the entry is lost.  False also if the entry does
// not use Level Zero.
bool is_lost(const Entry& entry) noexcept;

// The first byte of the imported host memory that contains `pointer`
// (zexDriverGetHostPointerBaseAddress). nullptr: the driver has not imported that memory.  nullopt:
// the driver cannot be asked, or has no answer.
std::optional<const void*> imported_from(const Entry& entry, const void* pointer) noexcept;

// An allocation of the driver, which may hold many blocks of the runtime.
struct DriverAllocation {
  std::uint32_t error;  // not 0: the driver knows of none
  const std::byte* begin;
  std::size_t nbytes;
};
// The allocation that contains the byte; nullopt: the entry does not use Level Zero.
std::optional<DriverAllocation> allocation_at(const Entry& entry, const void* pointer) noexcept;

// The entry, in the same context, of the device that the memory was allocated on.  The driver knows
// that device more exactly than SYCL. `entry` itself: there is no answer or no such entry.
const Entry& device_of_memory(const Entry& entry, const void* pointer) noexcept;

}  // namespace sycl_ext
