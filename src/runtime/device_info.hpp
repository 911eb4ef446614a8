// SPDX-License-Identifier: Apache-2.0
// What SYCL says about devices and contexts: names, aspects, the devices that one is a part or made
// of, which context serves it, how it can be cut.  Each function asks the runtime anew: what is
// known is kept by the table (device_table.hpp), whose functions put sycl_call() around these.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/device_table.hpp"
#include "runtime/sycl_handles.hpp"

namespace sycl_ext {

sycl::context default_context(const sycl::platform& platform);
// What two contexts have in common that a driver cannot tell apart; 0: each is its own.  The second
// Level Zero adapter gives every context of all devices the driver's default context.
std::uintptr_t native_context(const sycl::context& context);
// The number of a device in CUDA or HIP; -1: it is another library's.
int native_ordinal(const sycl::device& device);

// The device that a sub-device is a part of; nullopt: it is none.  On Level Zero a device tells how
// it was partitioned only if this process did it; its parent it knows in any case.
std::optional<sycl::device> parent_of(const sycl::device& device);
// The devices that a composite device is made of: the root devices of the tiles of a card, whose
// own device is not listed (ZE_FLAT_DEVICE_HIERARCHY=COMBINED).
std::vector<sycl::device> components_of(const sycl::device& device);

// Whether a sub-device may use the default context of its root: OpenCL says no.
bool can_live_in(const sycl::context& context, const sycl::device& device);
// Whether a context serves a device: it lists it, or (on Level Zero) the device that it is cut
// from.
bool is_served(const sycl::device& device, const sycl::context& context);
// Everything about an entry that the runtime is asked for; the caller holds no lock meanwhile, and
// puts the entry into the table.
std::unique_ptr<Entry> describe(const sycl::device& device, const sycl::context& context);

// The parts, in the order of the runtime.  Error(value): no such affinity domain.
std::vector<sycl::device> make_parts(const sycl::device& device, const Partition& partition);
// For messages: "a number of compute units (such as 4), 'cslice'"; "nothing".
std::string ways_to_cut(const sycl::device& device);

}  // namespace sycl_ext
