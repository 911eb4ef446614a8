// SPDX-License-Identifier: Apache-2.0
// The owner of a pointer: the kind of its memory, and the device table entry that it belongs to.
#pragma once

#include <cstddef>

#include "runtime/devices/device_table.hpp"

namespace sycl_ext {

// Entry of the block that contains the pointer; nullptr: plain host memory, or USM of a context
// that was not searched.  The default contexts, the registered contexts and the contexts of live
// blocks of this package are searched.  `every_context` searches the whole table, which is slow if
// the table is long.
//
// On Level Zero every context of a driver knows every pointer.  So only one context of the driver
// is asked, and the memory counts as memory of the default context.  The exception is memory in a
// live block of a private context, which this package allocated or which came with its context.
const Entry* find_owner(const void* pointer, UsmKind* kind, bool every_context = false);

// The entry of a block in `context`: that of the device that the block was allocated on, which
// matters if the context has several devices.  For memory that is not of that context, any entry;
// locate_usm() refuses it.
const Entry& entry_in_context(const void* pointer, const void* context);

// Entry and kind of a block of USM, given its first byte and its size, checked at both ends. `what`
// names its producer in the Error(buffer).  On Level Zero the entry may be a tile of `entry`.
const Entry& locate_usm(const char* what, const std::byte* first, std::size_t nbytes,
                        const Entry& entry, UsmKind* kind);

}  // namespace sycl_ext
