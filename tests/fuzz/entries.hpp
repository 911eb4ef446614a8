// SPDX-License-Identifier: Apache-2.0
// The entries that the fuzz targets know: the default device, a private context of it, a part of
// it.
#pragma once

#include <array>
#include <functional>

#include "runtime/devices/device_table.hpp"
#include "runtime/memory/usm_pointers.hpp"
#include "runtime/sycl/handles.hpp"
#include "tensor/tensor.hpp"

inline const std::array<std::reference_wrapper<const sycl_ext::Entry>, 3>& entries() {
  static const auto made = [] {
    const sycl_ext::Entry& root = sycl_ext::default_entry();
    const sycl::context context(*static_cast<const sycl::device*>(root.device_address()));
    const sycl_ext::Entry& elsewhere = sycl_ext::entry_of_context(&context, nullptr);
    const auto sub_devices = sycl_ext::create_sub_devices(root, {"equally", {1}});
    return std::array{std::cref(root), std::cref(elsewhere), std::cref(*sub_devices.front())};
  }();
  return made;
}

// Whether the device that the tensor announces says where its memory is.
inline bool is_where_announced(const sycl_ext::Tensor& tensor) {
  const sycl_ext::Memory& memory = tensor.memory;
  return tensor.on_host ||
         (memory->entry->default_context && memory->kind != sycl_ext::UsmKind::system);
}
