// SPDX-License-Identifier: Apache-2.0
// How much memory there is of each kind on each device, and how much there may be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/memory_use.hpp"
#include "runtime/usm_kind.hpp"

namespace sycl_ext {

struct UseOfKind {
  const Entry* entry;  // nullptr: host memory
  UsmKind kind;
  const MemoryUse* use;
};
// The allocations so far.
std::vector<UseOfKind> memory_use();

// Where the allocations of an entry are counted; entry nullptr: host memory.
MemoryUse& use_of(const Entry* entry, UsmKind kind) noexcept;

// 'device' and 'shared' USM of the device of an entry; of a root device's, also that of its parts
// and of its private contexts.
std::int64_t bytes_on(const Entry& entry) noexcept;

// Whom an allocation asks before it fails; true: it is to try again.  It is asked without a lock,
// and may throw.
using PressureHandler = bool (*)(const Entry& limited, std::size_t nbytes);
void set_pressure_handler(PressureHandler handler) noexcept;

// An allocation of so many bytes on the entry does not fit: asks for the device of the entry and
// for its root device.  False: nobody makes room.  Not for an allocation of the handler itself.
bool is_room_made(const Entry& entry, std::size_t nbytes);

// The limit that the allocation would pass; nullptr: there is room, which may have been made.
const Entry* passed_limit(const Entry& entry, UsmKind kind, std::size_t nbytes);

}  // namespace sycl_ext
