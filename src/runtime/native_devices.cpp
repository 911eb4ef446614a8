// SPDX-License-Identifier: Apache-2.0
#include "runtime/native_devices.hpp"

#include <dlpack/dlpack.h>

#include <algorithm>
#include <array>
#include <sycl/backend.hpp>
#include <sycl/detail/backend_traits_cuda.hpp>
#include <sycl/detail/backend_traits_hip.hpp>
#include <sycl/ext/oneapi/backend/hip.hpp>

#include "runtime/runtime_call.hpp"
#include "runtime/sycl_handles.hpp"

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

const Name* find(int type) noexcept {
  const auto* const found = std::find_if(names.begin(), names.end(), [type](const Name& name) {
    return static_cast<int>(name.type) == type;
  });
  return found == names.end() ? nullptr : found;
}

}  // namespace

std::optional<NativeDevice> native_device(const Entry& entry, UsmKind kind) noexcept {
  const Entry* const root = find_entry(entry.root_id);
  if (!root || root->native_ordinal < 0) return std::nullopt;
  for (const Name& name : names) {
    if (entry.backend == name.backend && kind == name.kind) {
      return NativeDevice{static_cast<std::int32_t>(name.type), root->native_ordinal};
    }
  }
  return std::nullopt;
}

bool is_native_type(int type) noexcept { return find(type); }

const Entry* entry_of_native(NativeDevice device) {
  const Name* const name = find(device.type);
  if (!name || device.id < 0) return nullptr;
  const int count = root_count();
  for (int id = 0; id < count; ++id) {
    const Entry& root = entry_at(id);
    if (root.native_ordinal == device.id && root.backend == name->backend) return &root;
  }
  return nullptr;
}

UsmKind kind_of_native(int type) {
  if (const Name* const name = find(type)) return name->kind;
  fail(Error::Kind::value, "device type ", type, " names no memory of CUDA or ROCm");
}

std::uintptr_t native_stream(const Entry& entry) {
  // In order, and so one stream; a queue that is out of order has many.
  const auto& queue = *static_cast<const sycl::queue*>(entry.commands().share());
  return sycl_call("asking for the stream of a queue", [&] {
    const RuntimeCall call("asking for the stream of a queue");
    using sycl::backend;
    return entry.backend == "cuda"
               ? reinterpret_cast<std::uintptr_t>(sycl::get_native<backend::ext_oneapi_cuda>(queue))
               : reinterpret_cast<std::uintptr_t>(sycl::get_native<backend::ext_oneapi_hip>(queue));
  });
}

}  // namespace sycl_ext
