// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory/usm_pointers.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <string>
#include <sycl/ext/oneapi/experimental/composite_device.hpp>
#include <sycl/ext/oneapi/virtual_mem/virtual_mem.hpp>

#include "base/fork.hpp"
#include "runtime/devices/device_info.hpp"
#include "runtime/devices/entry_handles.hpp"
#include "runtime/devices/level_zero.hpp"
#include "runtime/memory/usm.hpp"
#include "runtime/sycl/bug_opencl_memory_device.hpp"
#include "runtime/sycl/handles.hpp"
#include "runtime/sycl/usm_aspects.hpp"

namespace sycl_ext {

namespace {

// Makes the runtime create the devices that it does not list: the tiles of its GPUs, and the cards
// of the tiles that it lists.  Until they exist, the runtime cannot return the device of memory on
// them.
void meet_unlisted_devices() noexcept {
  const auto meet = [](const auto& make) {
    try {
      make();
    } catch (...) {  // the device has no sub-devices, or the driver no cards
    }
  };
  const Partition tiles{"next_partitionable", {}};
  for (int id = 0; id < root_count(); ++id) {
    const sycl::device& device = entry_at(id).sycl->device;
    if (device.get_backend() == sycl::backend::opencl) continue;
    meet([&] { make_sub_devices(device, tiles); });
  }
  meet([] { sycl::ext::oneapi::experimental::get_composite_devices(); });
}

// The device that the memory was allocated on; nullopt: that cannot be known.
std::optional<sycl::device> device_of(const void* pointer, const sycl::context& context) {
  const bool is_opencl = context.get_backend() == sycl::backend::opencl;
  if (is_opencl) return bug::device_of_opencl_memory(pointer, context);
  try {
    return sycl::get_pointer_device(pointer, context);
  } catch (const sycl::exception&) {
    meet_unlisted_devices();
    return sycl::get_pointer_device(pointer, context);
  }
}

// The kind of the USM that contains `pointer`, as the runtime knows it in the entry's context;
// nullopt: the pointer is not USM of that context (on Level Zero: of no context of the driver). On
// Level Zero the answer is about the allocation of the driver, which may be a slab with many
// blocks, so a pointer beyond its block or into a freed block still has a kind.  In a forked child
// no pointer is USM of a GPU.
std::optional<UsmKind> kind_in(const Entry& entry, const void* pointer) noexcept {
  if (is_forked_child() && !entry.is_cpu()) return {};  // the driver may be locked for ever
  // The runtime throws for a kind that the device does not support, which is slow.
  const auto has = [&entry](UsmKind kind) { return has_usm(entry, kind); };
  if (std::none_of(allocated_kinds.begin(), allocated_kinds.end(), has)) return {};
  try {
    const sycl::usm::alloc type = sycl::get_pointer_type(pointer, entry.sycl->context);
    for (const UsmKind kind : allocated_kinds) {
      if (alloc_of(kind) == type) return kind;
    }
  } catch (...) {  // the runtime does not know: the same as "no"
  }
  return {};
}

// The entry for the device that a USM pointer of the entry's context was allocated on; on Level
// Zero that may be a tile of the entry's device.  If that device is not known, `entry` itself, as
// the producer claims.
const Entry& allocating_entry(const void* pointer, const Entry& entry) {
  if (entry.single_device) return entry;
  return sycl_call("looking up the device of a pointer", [&]() -> const Entry& {
    const std::optional<sycl::device> device = device_of(pointer, entry.sycl->context);
    if (!device || *device == entry.sycl->device) return entry;
    return entry_of(&*device, &entry.sycl->context);
  });
}

// Memory of the extension sycl_ext_oneapi_virtual_mem: an address range is reserved, and then
// mapped to physical memory of a device.  Drivers before 2025 do not know the kind of a pointer
// into it.
namespace experimental = sycl::ext::oneapi::experimental;

// Throws for addresses that were never reserved.  Level Zero answers for the whole reservation.
bool is_accessible(const Entry& entry, const std::byte* first, std::size_t nbytes) {
  return experimental::get_access_mode(first, nbytes, entry.sycl->context) !=
         experimental::address_access_mode::none;
}

bool is_page_mapped(const Entry& entry, const std::byte* page) {
  const std::optional<DriverAllocation> allocation = allocation_at(entry, page);
  return allocation ? allocation->error == 0 : is_accessible(entry, page, 1);
}

// Whether all of a range is mapped in the entry's context; nullopt: the range is in no reservation.
std::optional<bool> is_mapped(const Entry& entry, const std::byte* first,
                              std::size_t nbytes) noexcept {
  std::optional<bool> mapped;
  try {
    if (!entry.sycl->device.has(sycl::aspect::ext_oneapi_virtual_mem)) return mapped;
    (void)is_accessible(entry, first, 1);
    mapped = false;
    if (!is_accessible(entry, first, nbytes)) return mapped;
    const std::size_t page = experimental::get_mem_granularity(
        entry.sycl->device, entry.sycl->context, experimental::granularity_mode::minimum);
    for (std::size_t offset = 0; offset < nbytes; offset += page) {
      if (!is_page_mapped(entry, first + offset)) return mapped;
    }
    mapped = is_page_mapped(entry, first + nbytes - 1);
  } catch (...) {  // other memory, or it is not known that all of it is mapped
  }
  return mapped;
}

// The owner of a pointer, as a text for a message.
std::string describe_owner(const void* pointer) {
  UsmKind kind;
  const Entry* const entry = find_owner(pointer, &kind, /*every_context=*/true);
  if (!entry) return "it is plain host memory, or USM of an unregistered context";
  const char* const context = entry->default_context ? "default" : "private";
  return std::string("it is '") + usm_kind_name(kind) + "' USM of the " + context +
         " context of device (14, " + std::to_string(entry->id) + ")";
}

}  // namespace

const Entry* find_owner(const void* pointer, UsmKind* kind, bool every_context) {
  const Entry* const first = find_entry(0);  // throws if the enumeration fails
  const auto owner_in = [&](const Entry* entry) -> const Entry* {
    const std::optional<UsmKind> known = entry ? kind_in(*entry, pointer) : std::nullopt;
    if (!known) return nullptr;
    const Entry& owner = known == UsmKind::host ? *entry : allocating_entry(pointer, *entry);
    *kind = *known;  // set only if there is an owner
    return &owner;
  };
  try {
    const Entry* owner = owner_in(private_entry_at(pointer));
    for (const Entry* entry = first; entry && !owner; entry = entry->next_searched) {
      owner = owner_in(entry);
    }
    const int count = every_context ? entry_count() : 0;
    for (int id = root_count(); id < count && !owner; ++id) {
      const Entry& entry = entry_at(id);
      if (!entry.default_context && !entry.driver_wide()) owner = owner_in(&entry);
    }
    return owner;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (...) {  // an unknown owner
    return nullptr;
  }
}

const Entry& entry_in_context(const void* pointer, const void* context) {
  const auto& handle = *static_cast<const sycl::context*>(context);
  const auto devices =
      sycl_call("querying the devices of a context", [&] { return handle.get_devices(); });
  if (devices.size() == 1 || !pointer) return entry_of(&devices.front(), context);
  try {
    const std::optional<sycl::device> device = device_of(pointer, handle);
    return entry_of(device ? &*device : &devices.front(), context);
  } catch (const sycl::exception&) {  // virtual memory, or none of the context
    for (const sycl::device& member : devices) entry_of(&member, context);
    return device_of_memory(entry_of(&devices.front(), context), pointer);
  }
}

const Entry& locate_usm(const char* what, const std::byte* first, std::size_t nbytes,
                        const Entry& entry, UsmKind* kind) {
  *kind = UsmKind::device;
  if (nbytes == 0) {
    if (first) *kind = kind_in(entry, first).value_or(UsmKind::device);
    return entry;
  }
  require_not_forked([&entry] { return entry.is_cpu(); });
  const std::byte* const last = first + nbytes - 1;
  const char* const context = entry.default_context ? "default" : "private";
  const std::optional<UsmKind> known = kind_in(entry, first);
  const std::optional<bool> mapped = known ? std::nullopt : is_mapped(entry, first, nbytes);
  if (mapped == false) {
    fail(Error::Kind::buffer, what, " has ", nbytes, " bytes at ", static_cast<const void*>(first),
         ", in virtual memory of device (14, ", entry.id,
         "), but not all of them are mapped and accessible; map them (physical_mem::map) before "
         "the exchange");
  }
  if (!known && !mapped.has_value()) {
    fail(Error::Kind::buffer, what, " points to ", static_cast<const void*>(first),
         ", which is not USM of the ", context, " context of device (14, ", entry.id, ") ('",
         entry.name, "'): ", describe_owner(first),
         "; to import memory of another context, pass it with its queue or context "
         "(__sycl_usm_array_interface__, sycl_ext.as_tensor), or have the producer copy it");
  }
  if (known && kind_in(entry, last) != known) {
    fail(Error::Kind::buffer, what, " starts at ", static_cast<const void*>(first),
         " in USM, but its ", nbytes, " bytes extend beyond that allocation");
  }
  *kind = known.value_or(UsmKind::device);
  if (known == UsmKind::host) return entry;
  const Entry& owner = known ? allocating_entry(first, entry) : device_of_memory(entry, first);
  if (!entry.reaches(owner)) {
    fail(Error::Kind::buffer, what, " is labelled device ", entry.id, " ('", entry.name,
         "'), but its memory was allocated on device (14, ", owner.root_id, ")");
  }
  if (known && &allocating_entry(last, entry) != &owner) {
    fail(Error::Kind::buffer, what, " spans the memory of two devices");
  }
  // The memory belongs to the entry of its owner if `entry` also stands for other devices: a root
  // device for its sub-devices, a composite device for root devices.  Otherwise `entry` came with a
  // context, and the memory is bound to that.
  const bool stands_for_others = entry.kind == EntryKind::root || !entry.components.empty();
  return stands_for_others ? owner : entry;
}

}  // namespace sycl_ext
