// SPDX-License-Identifier: Apache-2.0
// A page of physical memory that is mapped at two addresses, as key-value caches use it
// (https://github.com/ovg-project/kvcached/issues/501).
#pragma once

#include <optional>

#include "runtime/devices/entry.hpp"

namespace sycl_ext {

// Whether such a page is one memory: what is written through one address is read through the other
// one.  A driver may accept both mappings and keep two memories.  nullopt: the device maps no
// virtual memory.
std::optional<bool> is_one_page_at_two_addresses(const Entry& entry);

}  // namespace sycl_ext
