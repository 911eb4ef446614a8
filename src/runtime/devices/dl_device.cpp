// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/dl_device.hpp"

#include <array>
#include <sycl/backend.hpp>
#include <sycl/detail/backend_traits_cuda.hpp>
#include <sycl/detail/backend_traits_hip.hpp>
#include <sycl/ext/oneapi/backend/hip.hpp>

#include "base/host.hpp"
#include "base/process_memory.hpp"
#include "runtime/sycl/handles.hpp"
#include "runtime/sycl/runtime_call.hpp"

namespace sycl_ext {

namespace {

struct Name {
  const char* backend;
  UsmKind kind;
  DLDeviceType type;
};

// The one table.  DLPack has no type for managed memory of ROCm.
constexpr std::array<Name, 5> names{{
    {"cuda", UsmKind::device, kDLCUDA},
    {"cuda", UsmKind::shared, kDLCUDAManaged},
    {"cuda", UsmKind::host, kDLCUDAHost},
    {"hip", UsmKind::device, kDLROCM},
    {"hip", UsmKind::host, kDLROCMHost},
}};

}  // namespace

NamedDevice resolve(DLDevice device) {
  const int type = static_cast<int>(device.device_type);
  if (type == kDLCPU) return {true};
  if (type == kDLOneAPI) return {false, false, find_entry(device.device_id)};
  NamedDevice named;
  for (const Name& name : names) {
    if (name.type != device.device_type) continue;
    named.kind = name.kind;
    named.may_be_host = name.kind != UsmKind::device;
    for (int id = 0; id < root_count() && !named.entry; ++id) {
      const Entry& root = entry_at(id);
      const bool is_device =
          root.native_ordinal == device.device_id && root.backend == name.backend;
      if (is_device) named.entry = &root;
    }
  }
  return named;
}

bool host_reads(const std::byte* first, std::size_t nbytes) noexcept {
  if (nbytes == 0) return true;
  const auto address = reinterpret_cast<std::uintptr_t>(first);
  return is_readable(address) && is_readable(address + nbytes - 1);
}

std::uintptr_t native_stream(const Entry& entry) {
  const WithoutGil released;
  // The queue is in order, so it is one stream; an out-of-order queue has many.
  const auto& queue = *static_cast<const sycl::queue*>(entry.commands().share());
  return locked_call("getting the native stream of a queue", [&] {
    using sycl::backend;
    if (entry.backend == "cuda") {
      return reinterpret_cast<std::uintptr_t>(sycl::get_native<backend::ext_oneapi_cuda>(queue));
    }
    return reinterpret_cast<std::uintptr_t>(sycl::get_native<backend::ext_oneapi_hip>(queue));
  });
}

}  // namespace sycl_ext
