// SPDX-License-Identifier: Apache-2.0
// The device table: integer -> (device, context, queue), the table that DLPack lacks.  Entries
// 0..R-1 are the root devices in the order of sycl::device::get_devices(), each with the default
// context of its platform; entries for sub-devices and registered contexts follow in order of
// registration.  Entries are never removed, renumbered or reused, so a plain `const Entry*` stays
// valid, and holds its context.
//
// Nothing is enumerated before the first call of this file.  The enumeration fails if the
// environment asks for devices in a way that the runtime does not understand: every function that
// may be the first then raises Error(runtime), each time, and none of them is noexcept.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fork.hpp"
#include "base/lock.hpp"
#include "runtime/memory/memory_limit.hpp"
#include "runtime/sycl/queue.hpp"
#include "runtime/sycl/usm_kind.hpp"

namespace sycl_ext {

struct EntryHandles;  // handles.hpp

enum class EntryKind { root, sub_device, context };

// How a device is partitioned: "equally", into sub-devices of `counts[0]` compute units; by
// "counts", into one for each of them; or, without these, along an affinity domain ("numa", ...) or
// into compute slices ("cslice").
struct Partition {
  std::string way;
  std::vector<std::size_t> counts;

  std::string description() const;  // "equally 2", "counts 1 1", "numa", "cslice"
};

class Entry final {
 public:
  int id = -1;
  int root_id = -1;  // the root device this entry's device is, or is a part of
  // The root devices that a composite device (a card) consists of, by id; else empty.
  std::vector<int> components;
  const Entry* parent = nullptr;  // the entry it was cut from or registered for; nullptr for a root
  EntryKind kind = EntryKind::root;
  // How create_sub_devices() partitioned a device for this entry, and the index of the sub-device;
  // empty and -1: other code made it.
  std::string partition;
  int part = -1;
  bool default_context = false;  // bound to the default context of its platform
  std::string name;
  std::string backend;        // "opencl", "level_zero", ...
  std::string device_type;    // "cpu", "gpu", "accelerator"
  std::string filter_string;  // "opencl:cpu:0"; empty unless it is a root
  std::string driver_version;
  std::string uuid;         // 16 bytes; empty: unknown
  std::string pci_address;  // "0000:03:00.0"; empty: unknown
  // The number of the device in CUDA or HIP, which DLPack uses for it.
  std::optional<int> native_ordinal;
  // Aspects.
  bool fp64 = false;
  std::array<bool, usm_kind_count> usm{};  // has_usm(entry, kind)
  bool single_device = false;              // every allocation of the context is on this device
  bool host_memory = false;                // the host can access device USM
  std::shared_ptr<const EntryHandles> sycl;
  // The next one in the list of entries, from entry 0 on, in whose contexts a pointer without a
  // context is looked up: the default ones, then those that were registered, but not those that
  // only came with a queue or memory.
  mutable std::atomic<const Entry*> next_searched{nullptr};

  // Of 'device', 'shared' and 'host' USM; and the limit for the sum of the first two, < 0: none.
  // More is kept for copies through the host: an allocation of host USM costs more than the copy.
  mutable std::array<BlockPool, allocated_kinds.size()> pools{
      BlockPool(std::size_t{2} << 20, BlockPool::largest_small),
      BlockPool(std::size_t{2} << 20, BlockPool::largest_small),
      BlockPool(std::size_t{8} << 20, std::size_t{4} << 20)};
  mutable std::atomic<std::int64_t> memory_limit{-1};

  // Whether the default context also knows the pointers of this private one, as everywhere but on
  // OpenCL: the runtime then does not tell which context they are bound to.
  bool driver_wide() const noexcept { return !default_context && backend != "opencl"; }
  // Whether a forked child can use the device.
  bool is_cpu() const noexcept { return device_type == "cpu"; }
  // Whether a queue of one can access memory of the other: they are on one root device, or one is a
  // composite device and the other is on a root device that it consists of.
  bool reaches(const Entry& other) const noexcept;

  // The queue that all code in the process shares for this device and context: the one that dpctl
  // keeps (dpctl.get_device_cached_queue), which dpnp uses.  It is out of order.  Fetched when
  // first needed, which takes the GIL: the caller holds no lock.
  const Queue& queue() const {
    const Queue* const fetched = fetched_queue();
    return fetched ? *fetched : fetch_queue();
  }
  // The same; nullptr: it was not fetched, and not given to other code.
  const Queue* fetched_queue() const noexcept { return queue_.made(); }
  // A new one, in order.
  Queue new_queue() const;

  // An in-order queue for the commands of this package, made when first needed, whose errors this
  // package handles.  A forked child makes another one, because pending commands of its parent end
  // only in the parent.
  const Queue& commands() const;
  // The same; nullptr: it was not made, and has no commands of this process.
  const Queue* made_commands() const noexcept { return commands_.made(); }
  // Queue::failure_of_copies of it, and in a forked child of those of the processes before it.
  std::string failure_of_copies(const std::byte* data, std::size_t nbytes, bool told) const;
  // An in-order queue for the work of C++ extensions, made when first needed.
  const Queue& extension_queue() const;
  // The same; nullptr: it was not made.
  const Queue* made_extension_queue() const noexcept { return extension_queue_.made(); }
  // Address of this entry's sycl::device / sycl::context, valid for ever.
  const void* device_address() const noexcept;
  const void* context_address() const noexcept;

 private:
  const Queue& fetch_queue() const;
  // Made without a lock, under which a fork would wait for the runtime.
  mutable FirstMade<const Queue, true> commands_;
  mutable FirstMade<const Queue> queue_, extension_queue_;
};

// The advice of errors if there is no device.  The package sets it at import, with the driver that
// should provide a device (empty: unknown): if the driver cannot be loaded into this process, the
// advice is the reason of the loader.
std::string no_device_advice();
void set_no_device_advice(std::string advice, std::string driver);

int root_count();
int entry_count();
// Error(value) if there is no such entry.
const Entry& entry_at(int id);
const Entry* find_entry(int id);  // nullptr: no such entry
// The entries so far: enumerates nothing, and cannot fail.
int entries_so_far() noexcept;

// Entry of the root device that SYCL's default selector chooses.  Error(runtime): no device.
const Entry& default_entry();

// Entry of a device and a context, appended when it is new.  The arguments are addresses of a
// sycl::device and a sycl::context.
//
// A sub-device has one entry of kind sub_device, its home: in the default context where the runtime
// lets it live there (Level Zero), else in the context that it was first seen in (OpenCL).  In any
// other context it is an entry of kind context, as a root device is.
const Entry& entry_of(const void* device, const void* context);
// The same for the device and context of a queue.
const Entry& entry_of(const Queue& queue);
// Entry of a context: of its only device, or of `device` when that is given.
const Entry& entry_of_context(const void* context, const void* device);
// Entry of a root device, or the home of a sub-device.
const Entry& entry_of_device(const void* device);
// Entries of the sub-devices of a device, in the order of the runtime.  The same partition of the
// same device gives the same entries, although OpenCL makes new, unequal sub-devices each time.  (A
// sub-device that other code made there is known only by its handle.)  Error(value): no such
// partition; Error(runtime): the device cannot be partitioned so.
std::vector<const Entry*> create_sub_devices(const Entry& entry, const Partition& partition);

// Adds the context of the entry to those in which pointers are looked up.
void register_context_of(const Entry& entry);

// Whether two entries are bound to one sycl::context.
bool same_context(const Entry& a, const Entry& b) noexcept;
// Whether one command of a queue copies between *device* USM of two entries: one of them is host
// memory, or the runtime knows the memory of both and the devices can access each other.  (An
// OpenCL context takes a pointer that it does not know for host memory.)
bool copies_directly(const Entry& from, const Entry& to);

}  // namespace sycl_ext
