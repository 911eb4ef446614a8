// SPDX-License-Identifier: Apache-2.0
// Functions of the Level Zero loader, for what SYCL does not tell.
#pragma once

#include <optional>

#include "runtime/device_table.hpp"

namespace sycl_ext {

// nullptr: there is no such driver behind the entry, or no such function.  The adapters load the
// loader by themselves, so it is asked for under its name, and never loaded here.
void* level_zero_symbol(const Entry& entry, const char* name) noexcept;

template <class Function>
Function level_zero_function(const Entry& entry, const char* name) noexcept {
  return reinterpret_cast<Function>(level_zero_symbol(entry, name));
}

// Whether the driver of the entry has imported the byte of host memory, and from which address on
// (zexDriverGetHostPointerBaseAddress).
struct ImportedFrom {
  bool is_known;      // false: there is no such driver, or it does not say
  const void* first;  // nullptr: it is not imported
};
ImportedFrom imported_from(const Entry& entry, const void* pointer) noexcept;

// Whether the driver has memory at the address; nullopt: there is no such driver.
std::optional<bool> has_memory_at(const Entry& entry, const void* pointer) noexcept;

// The entry in the same context of the device that the memory is on, as the driver says, which
// knows more of it than SYCL; nullptr: it does not say, or has no such entry.
const Entry* device_of_memory(const Entry& entry, const void* pointer) noexcept;

}  // namespace sycl_ext
