// SPDX-License-Identifier: Apache-2.0
#include "runtime/sycl/usm_aspects.hpp"

namespace sycl_ext {

namespace {

struct Row {
  sycl::aspect aspect;
  sycl::usm::alloc alloc;
};

// In the order of UsmKind.
constexpr std::array rows{
    Row{sycl::aspect::usm_device_allocations, sycl::usm::alloc::device},
    Row{sycl::aspect::usm_shared_allocations, sycl::usm::alloc::shared},
    Row{sycl::aspect::usm_host_allocations, sycl::usm::alloc::host},
    Row{sycl::aspect::usm_system_allocations, sycl::usm::alloc::unknown},
};
static_assert(rows.size() == usm_kind_count);

}  // namespace

sycl::usm::alloc alloc_of(UsmKind kind) noexcept {
  return rows[static_cast<std::size_t>(kind)].alloc;
}

std::array<bool, usm_kind_count> usm_of(const sycl::device& device) {
  std::array<bool, usm_kind_count> aspects{};
  for (std::size_t i = 0; i < rows.size(); ++i) aspects[i] = device.has(rows[i].aspect);
  return aspects;
}

}  // namespace sycl_ext
