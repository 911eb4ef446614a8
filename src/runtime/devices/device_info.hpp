// SPDX-License-Identifier: Apache-2.0
// SYCL queries about devices and contexts: names, aspects, parents and components, the
// contexts that serve a device, and the possible partitions.  Each function asks the runtime anew;
// the table (device_table.hpp) keeps the answers, and puts sycl_call() around these calls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/devices/entry.hpp"
#include "runtime/devices/partition.hpp"
#include "runtime/sycl/handles.hpp"

namespace sycl_ext {

// A number that is equal for two contexts if the driver cannot distinguish them; 0 if the driver
// distinguishes all contexts.  The second Level Zero adapter uses the default context of the driver
// for every context of all devices.
std::uintptr_t native_context(const sycl::context& context);

// The parent of a sub-device; nullopt: the device is not a sub-device.  On Level Zero every process
// can ask for the parent, but only the process that partitioned the device can ask how.
std::optional<sycl::device> parent_of(const sycl::device& device);
// The components of a composite device: the root devices of the tiles of a card that is not itself
// listed (ZE_FLAT_DEVICE_HIERARCHY=COMBINED).
std::vector<sycl::device> components_of(const sycl::device& device);

// The composite device of such a component; nullopt: the device is none.
std::optional<sycl::device> composite_of(const sycl::device& device);

// Whether a sub-device can use a context, such as the default one; not on OpenCL.
bool can_live_in(const sycl::context& context, const sycl::device& device);
// Whether a context serves a device: the context lists the device, or (on Level Zero) its parent.
bool is_served(const sycl::device& device, const sycl::context& context);
// Reads all properties of an entry from the runtime.  The caller holds no lock, and adds the entry
// to the table.
std::unique_ptr<Entry> describe(const sycl::device& device, const sycl::context& context);

// The bytes of the device's memory that no process has allocated; nullopt: the driver cannot say.
std::optional<std::uint64_t> free_memory(const Entry& entry);

// The sub-devices, in the order of the runtime.  Error(value): the device has no such affinity
// domain.
std::vector<sycl::device> make_sub_devices(const sycl::device& device, const Partition& partition);
// For messages: "a number of compute units (such as 4), 'cslice'"; "nothing".
std::string possible_partitions(const sycl::device& device);

}  // namespace sycl_ext
