// SPDX-License-Identifier: Apache-2.0
// How much memory there is of each kind on each device, and how much there may be.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "runtime/devices/entry.hpp"
#include "runtime/sycl/usm_kind.hpp"

namespace sycl_ext {

// 'device' and 'shared' USM of the device of an entry; for a root device, with that of its
// sub-devices and private contexts.
std::int64_t bytes_on(const Entry& entry) noexcept;

// An allocation of so many bytes on the entry does not fit.  Waits for blocks with pending work
// that are to be freed, then calls the handler for the device of the entry, or else for its root
// device, and so on, until `has_room` is true.  False: there is none, and the handler has nothing
// to free, or was called too often.  An allocation of the handler itself only waits, and one of
// another thread waits for the handler to end, a while at most.
bool is_room_made(const Entry& entry, std::size_t nbytes, const std::function<bool()>& has_room);

// The entry whose limit the allocation would pass; nullptr: there is none.
const Entry* passed_limit(const Entry& entry, UsmKind kind, std::size_t nbytes) noexcept;

// Asks the program to free memory before an allocation fails; true: the allocation tries again.
// nullptr: there is nobody to ask.  It is called without a lock, with or without the GIL, and may
// throw.
using MakeRoom = bool (*)(const Entry& limited, std::size_t nbytes);
inline std::atomic<MakeRoom> make_room{nullptr};

}  // namespace sycl_ext
