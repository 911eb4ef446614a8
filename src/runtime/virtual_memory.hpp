// SPDX-License-Identifier: Apache-2.0
// Memory of the extension sycl_ext_oneapi_virtual_mem: address space that is reserved, and mapped
// to physical memory of a device.  Drivers before 2025 say that it is unknown when they are asked
// for the type of a pointer.
#pragma once

#include <cstddef>

#include "runtime/device_table.hpp"

namespace sycl_ext {

// How much of a range is mapped in the entry's context: none of it lies in a reservation, or not
// all of it is mapped, or all is.
enum class Mapped { none, partly, wholly };
Mapped mapped(const Entry& entry, const std::byte* first, std::size_t nbytes) noexcept;

}  // namespace sycl_ext
