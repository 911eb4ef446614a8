// SPDX-License-Identifier: Apache-2.0
#include "runtime/sycl/usm_kind.hpp"

#include "runtime/devices/device_table.hpp"
#include "runtime/sycl/handles.hpp"

namespace sycl_ext {

namespace {

struct Row {
  const char* name;
  sycl::aspect aspect;
  sycl::usm::alloc alloc;
  bool on_host;  // false: where the device's memory is the host's
};

// In the order of UsmKind.
constexpr std::array<Row, usm_kind_count> rows{{
    {"device", sycl::aspect::usm_device_allocations, sycl::usm::alloc::device, false},
    {"shared", sycl::aspect::usm_shared_allocations, sycl::usm::alloc::shared, true},
    {"host", sycl::aspect::usm_host_allocations, sycl::usm::alloc::host, true},
    {"system", sycl::aspect::usm_system_allocations, sycl::usm::alloc::unknown, true},
}};

constexpr std::size_t place_of(UsmKind kind) noexcept { return static_cast<std::size_t>(kind); }

}  // namespace

sycl::usm::alloc alloc_of(UsmKind kind) noexcept { return rows[place_of(kind)].alloc; }

std::array<bool, usm_kind_count> usm_of(const sycl::device& device) {
  std::array<bool, usm_kind_count> found{};
  for (std::size_t i = 0; i < rows.size(); ++i) found[i] = device.has(rows[i].aspect);
  return found;
}

const char* usm_kind_name(UsmKind kind) noexcept { return rows[place_of(kind)].name; }

UsmKind usm_kind_named(const std::string& name) {
  for (const UsmKind kind : allocated_kinds) {
    if (name == usm_kind_name(kind)) return kind;
  }
  fail(Error::Kind::value, "usm_type is '", name, "'; it must be 'device', 'shared' or 'host'");
}

bool has_usm(const Entry& entry, UsmKind kind) noexcept { return entry.usm[place_of(kind)]; }

bool host_accessible(UsmKind kind, const Entry* entry) noexcept {
  return rows[place_of(kind)].on_host || (entry && entry->host_memory);
}

}  // namespace sycl_ext
