// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/device_info.hpp"

#include <algorithm>
#include <sycl/backend.hpp>
#include <sycl/detail/backend_traits_cuda.hpp>
#include <sycl/detail/backend_traits_hip.hpp>
#include <sycl/ext/oneapi/backend/hip.hpp>
#include <sycl/ext/oneapi/backend/level_zero.hpp>
#include <sycl/ext/oneapi/experimental/composite_device.hpp>

#if __has_include(<sycl/ext/intel/info/device.hpp>)  // from 2026.0 on; before that in sycl.hpp
#include <sycl/ext/intel/info/device.hpp>
#endif

#include "runtime/devices/entry_handles.hpp"
#include "runtime/sycl/commands.hpp"
#include "runtime/sycl/usm_aspects.hpp"

namespace sycl_ext {

namespace {

// Tables of names are constants.  A static variable of a function would have a guard, which a fork
// does not wait for.
template <class Value>
using Name = std::pair<Value, const char*>;

template <class Value, std::size_t Count>
const char* name_in(const Name<Value> (&names)[Count], Value wanted, const char* otherwise) {
  for (const auto& [value, name] : names) {
    if (value == wanted) return name;
  }
  return otherwise;
}

// The words of dpctl's filter strings.
constexpr Name<sycl::backend> backends[] = {
    {sycl::backend::opencl, "opencl"},
    {sycl::backend::ext_oneapi_level_zero, "level_zero"},
    {sycl::backend::ext_oneapi_cuda, "cuda"},
    {sycl::backend::ext_oneapi_hip, "hip"},
    {sycl::backend::ext_oneapi_native_cpu, "native_cpu"},
};
constexpr Name<sycl::info::device_type> types[] = {
    {sycl::info::device_type::cpu, "cpu"},
    {sycl::info::device_type::gpu, "gpu"},
    {sycl::info::device_type::accelerator, "accelerator"},
};

using Domain = sycl::info::partition_affinity_domain;
constexpr Name<Domain> domains[] = {
    {Domain::L1_cache, "L1_cache"},
    {Domain::L2_cache, "L2_cache"},
    {Domain::L3_cache, "L3_cache"},
    {Domain::L4_cache, "L4_cache"},
    {Domain::next_partitionable, "next_partitionable"},
    {Domain::numa, "numa"},
};

using Partitioning = sycl::info::partition_property;
constexpr Name<Partitioning> ways[] = {
    {Partitioning::partition_equally, "a number of compute units per sub-device"},
    {Partitioning::partition_by_counts, "a list of compute-unit counts"},
    {Partitioning::partition_by_affinity_domain, "an affinity domain"},
    {Partitioning::ext_intel_partition_by_cslice, "'cslice'"},
};

// A property that identifies the device.  Empty: the device has none, and the query throws.
template <class Info>
std::string identity(const sycl::device& device) {
  try {
    const auto bytes = device.get_info<Info>();
    return {bytes.begin(), bytes.end()};
  } catch (const sycl::exception&) {
    return {};
  }
}

Domain domain_named(const std::string& name) {
  std::string known;
  for (const auto& [value, domain] : domains) {
    if (name == domain) return value;
    known += "'" + std::string(domain) + "', ";
  }
  fail(Error::Kind::value, "partition is '", name, "'; it must be one of ", known, "'cslice'");
}

// The number of a device in CUDA or HIP.
std::optional<int> native_ordinal(const sycl::device& device) {
  constexpr auto cuda = sycl::backend::ext_oneapi_cuda, hip = sycl::backend::ext_oneapi_hip;
  try {
    if (device.get_backend() == cuda) return sycl::get_native<cuda>(device);
    if (device.get_backend() == hip) return sycl::get_native<hip>(device);
  } catch (const sycl::exception&) {  // an adapter without native handles
  }
  return std::nullopt;
}

bool takes_spirv(const sycl::device& device) {
  constexpr auto spirv = sycl::ext::oneapi::experimental::source_language::spirv;
  return !device.is_cpu() && sycl::device(device).ext_oneapi_can_build(spirv);
}

}  // namespace

std::uintptr_t native_context(const sycl::context& context) {
  constexpr auto level_zero = sycl::backend::ext_oneapi_level_zero;
  if (context.get_backend() != level_zero) return 0;
  try {
    return reinterpret_cast<std::uintptr_t>(sycl::get_native<level_zero>(context));
  } catch (const sycl::exception&) {  // an adapter without native handles
    return 0;
  }
}

std::optional<sycl::device> parent_of(const sycl::device& device) {
  try {
    return device.get_info<sycl::info::device::parent_device>();
  } catch (const sycl::exception& error) {
    if (error.code() != sycl::errc::invalid) throw;
    return std::nullopt;
  }
}

std::vector<sycl::device> components_of(const sycl::device& device) {
  using Components = sycl::ext::oneapi::experimental::info::device::component_devices;
  return device.get_info<Components>();
}

std::optional<sycl::device> composite_of(const sycl::device& device) {
  using Composite = sycl::ext::oneapi::experimental::info::device::composite_device;
  if (!device.has(sycl::aspect::ext_oneapi_is_component)) return std::nullopt;
  return device.get_info<Composite>();
}

bool can_live_in(const sycl::context& context, const sycl::device& device) {
  try {
    make_queue(context, device);
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool is_served(const sycl::device& device, const sycl::context& context) {
  const auto devices = context.get_devices();
  const auto listed = [&](const sycl::device& other) {
    return std::find(devices.begin(), devices.end(), other) != devices.end();
  };
  if (listed(device)) return true;
  for (auto whole = parent_of(device); whole; whole = parent_of(*whole)) {
    if (listed(*whole)) return can_live_in(context, device);
  }
  return false;
}

std::unique_ptr<Entry> describe(const sycl::device& device, const sycl::context& context) {
  auto entry = std::make_unique<Entry>();
  entry->name = device.get_info<sycl::info::device::name>();
  entry->backend = name_in(backends, device.get_backend(), "unknown");
  entry->device_type =
      name_in(types, device.get_info<sycl::info::device::device_type>(), "unknown");
  entry->driver_version = device.get_info<sycl::info::device::driver_version>();
  namespace info = sycl::ext::intel::info::device;
  entry->uuid = identity<info::uuid>(device);
  entry->pci_address = identity<info::pci_address>(device);
  entry->total_memory = device.get_info<sycl::info::device::global_mem_size>();
  entry->native_ordinal = native_ordinal(device);
  entry->fp64 = device.has(sycl::aspect::fp64);
  entry->usm = usm_of(device);
  // On Level Zero a context also serves the sub-devices of its devices; on OpenCL it does not.
  entry->single_device =
      device.get_backend() == sycl::backend::opencl && context.get_devices().size() == 1;
  // True only for OpenCL, the one backend where this was tried.
  entry->host_memory = device.get_backend() == sycl::backend::opencl && device.is_cpu();
  entry->blocks_on_pageable = is_cuda_or_hip(device.get_backend());
  entry->takes_spirv = takes_spirv(device);
  entry->sycl =
      std::make_shared<const EntryHandles>(EntryHandles{device, context, native_context(context)});
  return entry;
}

std::optional<std::uint64_t> free_memory(const Entry& entry) {
  return sycl_call("querying the free memory of a device", [&]() -> std::optional<std::uint64_t> {
    const sycl::device& device = entry.sycl->device;
    // The query is not made for CUDA and HIP: if the driver does not answer, their adapters end the
    // process.
    if (is_cuda_or_hip(device.get_backend())) return std::nullopt;
    if (!device.has(sycl::aspect::ext_intel_free_memory)) return std::nullopt;
    return device.get_info<sycl::ext::intel::info::device::free_memory>();
  });
}

std::string possible_partitions(const sycl::device& device) {
  const auto units = device.get_info<sycl::info::device::max_compute_units>();
  const std::string half = std::to_string(units / 2);
  const std::string rest = std::to_string(units - units / 2);
  std::string text;
  for (const auto property : device.get_info<sycl::info::device::partition_properties>()) {
    std::string way = name_in(ways, property, "");
    const bool equally = property == Partitioning::partition_equally;
    if (equally || property == Partitioning::partition_by_counts) {
      if (units < 2) continue;
      way += equally ? " (such as " + half + ")" : " (such as [" + half + ", " + rest + "])";
    }
    if (!way.empty()) text += (text.empty() ? "" : ", ") + way;
  }
  return text.empty() ? "nothing" : text;
}

std::vector<sycl::device> make_sub_devices(const sycl::device& device, const Partition& partition) {
  const auto& [way, counts] = partition;
  if (!counts.empty() && way == "equally") {
    return device.create_sub_devices<Partitioning::partition_equally>(counts.front());
  }
  if (!counts.empty()) return device.create_sub_devices<Partitioning::partition_by_counts>(counts);
  if (way == "cslice") {
    return device.create_sub_devices<Partitioning::ext_intel_partition_by_cslice>();
  }
  return device.create_sub_devices<Partitioning::partition_by_affinity_domain>(domain_named(way));
}

}  // namespace sycl_ext
