// SPDX-License-Identifier: Apache-2.0
#include "runtime/sycl/usm_kind.hpp"

#include "base/error.hpp"

namespace sycl_ext {

namespace {

struct Row {
  const char* name;
  bool on_host;  // false: only where the device's memory is the host's
};

// In the order of UsmKind.
constexpr std::array rows{
    Row{"device", false},
    Row{"shared", true},
    Row{"host", true},
    Row{"system", true},
};
static_assert(rows.size() == usm_kind_count);

const Row& row_of(UsmKind kind) noexcept { return rows[static_cast<std::size_t>(kind)]; }

}  // namespace

const char* usm_kind_name(UsmKind kind) noexcept { return row_of(kind).name; }

UsmKind usm_kind_named(const std::string& name) {
  for (const UsmKind kind : allocated_kinds) {
    if (name == usm_kind_name(kind)) return kind;
  }
  fail(Error::Kind::value, "usm_type is '", name, "'; it must be 'device', 'shared' or 'host'");
}

bool is_on_host(UsmKind kind) noexcept { return row_of(kind).on_host; }

}  // namespace sycl_ext
