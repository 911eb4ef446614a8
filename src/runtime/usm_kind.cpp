// SPDX-License-Identifier: Apache-2.0
#include "runtime/usm_kind.hpp"

#include <array>
#include <cstring>

#include "base/error.hpp"

namespace sycl_ext {

namespace {

struct KindTraits {
  UsmKind kind;
  const char* name;
  bool Entry::* aspect;
};

constexpr std::array<KindTraits, 4> kinds{{
    {UsmKind::device, "device", &Entry::usm_device},
    {UsmKind::shared, "shared", &Entry::usm_shared},
    {UsmKind::host, "host", &Entry::usm_host},
    {UsmKind::system, "system", &Entry::usm_system},
}};

}  // namespace

const char* usm_kind_name(UsmKind kind) noexcept {
  return kinds[static_cast<std::size_t>(kind)].name;
}

UsmKind usm_kind_named(const char* name) {
  for (const KindTraits& entry : kinds) {
    if (entry.kind != UsmKind::system && std::strcmp(entry.name, name) == 0) return entry.kind;
  }
  fail(Error::Kind::value, "usm_type is '", name, "'; it must be 'device', 'shared' or 'host'");
}

bool has_usm(const Entry& entry, UsmKind kind) noexcept {
  return entry.*kinds[static_cast<std::size_t>(kind)].aspect;
}

bool host_accessible(UsmKind kind, const Entry* entry) noexcept {
  switch (kind) {
    case UsmKind::device:
      return entry && entry->host_memory;
    case UsmKind::shared:
    case UsmKind::host:
    case UsmKind::system:
      return true;
  }
  return false;
}

}  // namespace sycl_ext
