// SPDX-License-Identifier: Apache-2.0
#include "runtime/virtual_memory.hpp"

#include <optional>
#include <sycl/ext/oneapi/virtual_mem/virtual_mem.hpp>

#include "runtime/level_zero.hpp"
#include "runtime/sycl_handles.hpp"

namespace sycl_ext {

namespace {

namespace experimental = sycl::ext::oneapi::experimental;

// Raises for what was never reserved.  Level Zero answers for a reservation as a whole.
bool is_accessible(const Entry& entry, const std::byte* first, std::size_t nbytes) {
  return experimental::get_access_mode(first, nbytes, entry.sycl->context) !=
         experimental::address_access_mode::none;
}

bool is_page_mapped(const Entry& entry, const std::byte* page) {
  const std::optional<DriverAllocation> found = allocation_at(entry, page);
  return found ? found->error == 0 : is_accessible(entry, page, 1);
}

}  // namespace

Mapped mapped(const Entry& entry, const std::byte* first, std::size_t nbytes) noexcept {
  if (!entry.virtual_memory) return Mapped::none;
  try {
    (void)is_accessible(entry, first, 1);
  } catch (...) {  // it is no such memory
    return Mapped::none;
  }
  try {
    if (!is_accessible(entry, first, nbytes)) return Mapped::partly;
    const std::size_t page = experimental::get_mem_granularity(
        entry.sycl->device, entry.sycl->context, experimental::granularity_mode::minimum);
    for (std::size_t offset = 0; offset < nbytes; offset += page) {
      if (!is_page_mapped(entry, first + offset)) return Mapped::partly;
    }
    return is_page_mapped(entry, first + nbytes - 1) ? Mapped::wholly : Mapped::partly;
  } catch (...) {
    return Mapped::partly;
  }
}

}  // namespace sycl_ext
