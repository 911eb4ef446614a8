// SPDX-License-Identifier: Apache-2.0
// The number of bytes in use of each kind on each device, and the limits for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "runtime/devices/entry.hpp"
#include "runtime/sycl/usm_kind.hpp"

namespace sycl_ext {

// Bytes of 'device' and 'shared' USM in use on the device of an entry.  For a root device they
// include its sub-devices and private contexts.
std::int64_t bytes_on(const Entry& entry) noexcept;

// Tries an allocation that has failed again: each time blocks were freed whose work was pending,
// and each time the callback (sycl_ext.memory.limit) returns true.  Returns whether an attempt
// succeeded.
bool retry_under_pressure(const Entry& entry, std::size_t nbytes,
                          const std::function<bool()>& attempt);

// A limit that an allocation would exceed, as it was then: it can change before an error names it.
struct PassedLimit {
  const Entry* entry = nullptr;  // nullptr: the allocation exceeds no limit
  std::int64_t bytes = 0;
  std::int64_t used = 0;
};
PassedLimit passed_limit(const Entry& entry, UsmKind kind, std::size_t nbytes) noexcept;

}  // namespace sycl_ext
