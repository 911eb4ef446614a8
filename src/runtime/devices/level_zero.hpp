// SPDX-License-Identifier: Apache-2.0
// Questions to the Level Zero driver behind an entry, which SYCL does not answer.
#pragma once

#include <optional>

#include "runtime/devices/device_table.hpp"

namespace sycl_ext {

// Whether the driver shares memory between processes, which the aspect of the device does not say.
// True: there is no such driver.
bool shares_memory(const Entry& entry) noexcept;

// Whether the driver says that the device of the entry is lost.  False: it is not, or there is no
// such driver.
bool is_lost(const Entry& entry) noexcept;

// From which address on the driver of the entry has imported the byte of host memory
// (zexDriverGetHostPointerBaseAddress); nullptr: it has not; nullopt: there is no such driver or
// answer.
std::optional<const void*> imported_from(const Entry& entry, const void* pointer) noexcept;

// An allocation of the driver, which may hold many blocks of the runtime.
struct DriverAllocation {
  std::uint32_t error;  // not 0: the driver knows of none
  const std::byte* begin;
  std::size_t nbytes;
};
// The one that contains the byte; nullopt: there is no such driver.
std::optional<DriverAllocation> allocation_at(const Entry& entry, const void* pointer) noexcept;

// The entry, in the same context, of the device of the memory, from the driver, which knows more
// about it than SYCL; `entry` itself: there is no answer or no such entry.
const Entry& device_of_memory(const Entry& entry, const void* pointer) noexcept;

}  // namespace sycl_ext
