// SPDX-License-Identifier: Apache-2.0
// The device table: integer -> (device, context, queue), the table that DLPack lacks.  Entries
// 0..R-1 are the root devices in the order of sycl::device::get_devices(), each with the default
// context of its platform; entries for sub-devices and registered contexts follow in order of
// registration.  Entries are never removed, renumbered or reused, so a plain `const Entry*` stays
// valid, and holds its context.
//
// The devices are enumerated by the first call of this file.  If an environment variable such as
// ONEAPI_DEVICE_SELECTOR has a value that the runtime does not understand, the enumeration fails.
// So each function that may make the first call raises Error(runtime) then, every time, and is not
// noexcept.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/devices/entry.hpp"
#include "runtime/devices/partition.hpp"
#include "runtime/sycl/queue.hpp"

namespace sycl_ext {

// The most entries of a process.
inline constexpr int most_entries = 65536;

// The advice of errors when there is no device.  The package sets it at import, together with the
// driver that should provide a device (empty: unknown). If this process cannot load the driver, the
// advice is the loader's reason.
std::string no_device_advice();
void set_no_device_advice(std::string advice, std::string driver);

int root_count();
int entry_count();
// Error(value) if there is no such entry.
const Entry& entry_at(int id);
const Entry* find_entry(int id);  // nullptr: no such entry
// The number of entries so far.  It enumerates nothing, and cannot fail.
int entries_so_far() noexcept;
// The same without the root devices, which are listed before anything can depend on one of them.
int added_entries() noexcept;

// Entry of the root device that SYCL's default selector chooses.  Error(runtime): no device.
const Entry& default_entry();

// Entry of a device and a context, appended when it is new.  The arguments are addresses of a
// sycl::device and a sycl::context.
//
// A sub-device has one home, an entry of kind sub_device.  Its context is the default context if
// the runtime lets the sub-device use that (Level Zero), otherwise the context in which the
// sub-device was first seen (OpenCL). With any other context, a sub-device or a root device gets an
// entry of kind context.
const Entry& entry_of(const void* device, const void* context);
// The same for the device and context of a queue.
const Entry& entry_of(const Queue& queue);
// Entry of a context: that of its only device, or of `device` if given.
const Entry& entry_of_context(const void* context, const void* device);
// Entry of a root device, or the home of a sub-device.
const Entry& entry_of_device(const void* device);
// The entry of the composite device (the card) that a device is a component of; nullopt: it is not
// one.
std::optional<const Entry*> composite_entry_of(const Entry& entry);
// Entries of the sub-devices of a device, in the order of the runtime.  Partitioning the same
// device in the same way again returns the same entries, although OpenCL makes new, unequal
// sub-devices each time.  (A sub-device that other code made on OpenCL is recognised only by its
// handle.) Error(value): there is no such partition.  Error(runtime): the device cannot be
// partitioned in this way.
std::vector<const Entry*> create_sub_devices(const Entry& entry, const Partition& partition);

// Adds the context of the entry to those in which pointers are looked up.
void register_context_of(const Entry& entry);

// Whether one command of a queue can copy between *device* USM of two entries.  It can if one of
// them is host memory, or if the runtime knows the memory of both and the devices can access each
// other.  (An OpenCL context takes a pointer that it does not know for host memory.)
bool copies_directly(const Entry& from, const Entry& to);

}  // namespace sycl_ext
