// SPDX-License-Identifier: Apache-2.0
// The owner of a pointer: the kind of its memory, and the device table entry that it belongs to.
#pragma once

#include <cstddef>

#include "runtime/devices/device_table.hpp"

namespace sycl_ext {

// Entry of the block that contains the pointer; nullptr: plain host memory, or USM of a context
// that was not searched.  The default contexts, those that were registered and those of live blocks
// of this package are; or all of the table, which is slow with many (`every_context`).
//
// On Level Zero every context of a driver knows every pointer.  So one context of the driver is
// asked, and the memory counts as that of the default context, unless it is in a live block of a
// private context that this package allocated or that came with its context.
const Entry* find_owner(const void* pointer, UsmKind* kind, bool every_context = false);

// The entry of a block in the context at an address: of the device that it was allocated on, which
// distinguishes the devices of the context.  Of other memory, which locate_usm() refuses, any.
const Entry& entry_in_context(const void* pointer, const void* context);

// Entry and kind of a block of USM, given its first byte and its size, checked at both ends. `what`
// names its producer in the Error(buffer).  On Level Zero the entry may be a tile of `entry`.
const Entry& locate_usm(const char* what, const std::byte* first, std::size_t nbytes,
                        const Entry& entry, UsmKind* kind);

}  // namespace sycl_ext
