// SPDX-License-Identifier: Apache-2.0
// The number of bytes in use of each kind on each device, and the limits for them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "runtime/devices/entry.hpp"
#include "runtime/sycl/usm_kind.hpp"

namespace sycl_ext {

// Bytes of 'device' and 'shared' USM in use on the device of an entry.  For a root device they
// include its sub-devices and private contexts.
std::int64_t bytes_on(const Entry& entry) noexcept;

// Makes room for an allocation of `nbytes` that does not fit.  It waits for blocks that are freed
// after their work, then calls the handler for the device of the entry, or else for its root
// device, and repeats that until `has_room` returns true.  False: there is no room, and the handler
// has nothing to free or was called too often.  An allocation inside the handler only waits.  An
// allocation of another thread waits, for a bounded time, until the handler returns.
bool is_room_made(const Entry& entry, std::size_t nbytes, const std::function<bool()>& has_room);

// A limit that an allocation would exceed, as it was then: it can change before an error names it.
struct PassedLimit {
  const Entry* entry = nullptr;  // nullptr: the allocation exceeds no limit
  std::int64_t bytes = 0;
  std::int64_t used = 0;
};
PassedLimit passed_limit(const Entry& entry, UsmKind kind, std::size_t nbytes) noexcept;

}  // namespace sycl_ext
