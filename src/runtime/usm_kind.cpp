// SPDX-License-Identifier: Apache-2.0
#include "runtime/usm_kind.hpp"

#include <array>
#include <cstring>

#include "base/error.hpp"

namespace sycl_ext {

namespace {

struct KindRow {
  UsmKind kind;
  const char* name;
  bool Row::* aspect;
};

constexpr std::array<KindRow, 4> kinds{{
    {UsmKind::device, "device", &Row::usm_device},
    {UsmKind::shared, "shared", &Row::usm_shared},
    {UsmKind::host, "host", &Row::usm_host},
    {UsmKind::system, "system", &Row::usm_system},
}};

}  // namespace

const char* usm_kind_name(UsmKind kind) noexcept {
  return kinds[static_cast<std::size_t>(kind)].name;
}

UsmKind usm_kind_named(const char* name) {
  for (const KindRow& row : kinds) {
    if (row.kind != UsmKind::system && std::strcmp(row.name, name) == 0) return row.kind;
  }
  fail(Error::Kind::value, "usm_type is '", name, "'; it must be 'device', 'shared' or 'host'");
}

bool has_usm(const Row& row, UsmKind kind) noexcept {
  return row.*kinds[static_cast<std::size_t>(kind)].aspect;
}

bool host_accessible(UsmKind kind, const Row* row) noexcept {
  switch (kind) {
    case UsmKind::device:
      return row && row->host_memory;
    case UsmKind::shared:
    case UsmKind::host:
    case UsmKind::system:
      return true;
  }
  return false;
}

}  // namespace sycl_ext
