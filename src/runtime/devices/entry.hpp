// SPDX-License-Identifier: Apache-2.0
// An entry of the device table: a device in a context, what is known about it, and its queues.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/first_made.hpp"
#include "runtime/sycl/kernel.hpp"
#include "runtime/sycl/queue.hpp"
#include "runtime/sycl/usm_kind.hpp"

namespace sycl_ext {

struct EntryHandles;  // entry_handles.hpp

enum class EntryKind { root, sub_device, context };

class Entry final {
 public:
  int id = -1;
  int root_id = -1;  // of the root device: the device itself, or the root of a sub-device
  // The root devices that a composite device (a card) consists of, by id; else empty.
  std::vector<int> components;
  // The entry that was partitioned; for a private context, the entry of its device; nullptr: a root
  // device.
  const Entry* parent = nullptr;
  EntryKind kind = EntryKind::root;
  // How create_sub_devices() partitioned the parent for this entry, and the index of the sub-device
  // in that partition.  Empty and -1 for a sub-device that was not created here.
  std::string partition;
  int partition_index = -1;
  bool default_context = false;  // bound to the default context of its platform
  std::string name;
  std::string backend;        // "opencl", "level_zero", ...
  std::string device_type;    // "cpu", "gpu", "accelerator"
  std::string filter_string;  // "opencl:cpu:0"; empty unless it is a root
  std::string driver_version;
  std::string uuid;                // 16 bytes; empty: unknown
  std::string pci_address;         // "0000:03:00.0"; empty: unknown
  std::uint64_t total_memory = 0;  // bytes of the device's global memory
  // The number of the device in CUDA or HIP, which DLPack uses for it.
  std::optional<int> native_ordinal;
  // Aspects.
  bool fp64 = false;
  std::array<bool, usm_kind_count> usm{};  // has_usm(*this, kind)
  bool single_device = false;              // every allocation of the context is on this device
  bool host_memory = false;                // the host can access device USM
  // A copy between device memory and pageable host memory blocks inside its submission until
  // earlier work is done, and registering the host memory with the driver does not change that.
  bool blocks_on_pageable = false;
  // Whether the runtime hands kernels in SPIR-V to the driver, and the host is not faster: a GPU of
  // OpenCL or Level Zero.  Its driver may have no compiler all the same.
  bool takes_spirv = false;
  std::shared_ptr<const EntryHandles> sycl;
  // The next entry in the list, from entry 0 on, of entries in whose contexts a pointer without a
  // context is looked up.  The list has the default contexts, then the registered contexts.  It
  // does not have contexts that only came with a queue or with memory.
  mutable std::atomic<const Entry*> next_searched{nullptr};

  // Whether the default context also knows the pointers of this private context.  That is so for
  // every backend but OpenCL, and the runtime then does not report the context of a pointer.
  bool driver_wide() const noexcept { return !default_context && backend != "opencl"; }
  // Whether a forked child can use the device.
  bool is_cpu() const noexcept { return device_type == "cpu"; }
  // Whether a queue of one entry can access memory of the other.  Either both are on one root
  // device, or one is a composite device and the other is on a root device that it consists of.
  bool reaches(const Entry& other) const noexcept;

  // The queue that all code in the process shares for this device and context: the queue that dpctl
  // keeps (dpctl.get_device_cached_queue), which dpnp uses.  As long as there is no dpctl in the
  // process, it is a queue of this package.  It is out of order.  It is fetched when first needed,
  // which takes the GIL, so the caller holds no lock.
  const Queue& queue() const {
    const Queue* const of_dpctl = queue_of_dpctl_.made();
    return of_dpctl ? *of_dpctl : fetch_queue();
  }
  // The shared queue, or nullptr if it was not fetched, and so was not handed out by this package.
  const Queue* fetched_queue() const noexcept {
    const Queue* const of_dpctl = queue_of_dpctl_.made();
    return of_dpctl ? of_dpctl : queue_before_dpctl_.made();
  }
  // The queue that was shared until dpctl was loaded, and may still be in use; nullptr: there is
  // none.
  const Queue* earlier_queue() const noexcept {
    return queue_of_dpctl_.made() ? queue_before_dpctl_.made() : nullptr;
  }
  // A new in-order queue.
  Queue new_queue() const;

  // An in-order queue for the commands of this package, made when first needed.  This package
  // handles its errors.  A forked child makes a queue of its own, because pending commands of the
  // parent end only in the parent.
  const Queue& commands() const;
  // The queue for commands; nullptr: it was not made, so this process has no commands on it.
  const Queue* made_commands() const noexcept { return commands_.made(); }
  // Queue::failure_of_copies of that queue, and of those of the parent processes.
  std::string failure_of_copies(const std::byte* data, std::size_t nbytes,
                                bool mark_reported) const;
  // Queue::forget_copies_to of the same queues.
  void forget_copies_to(const std::byte* data, std::size_t nbytes) const;
  // An in-order queue for the work of C++ extensions, made when first needed.
  const Queue& extension_queue() const;
  // The queue for extensions; nullptr: it was not made.
  const Queue* made_extension_queue() const noexcept { return extension_queue_.made(); }
  // The objects in which Python gets the shared queue (python/dpctl_queue.cpp): that of this
  // package before dpctl was loaded, and that of dpctl; the core does not read them.
  mutable std::array<void*, 2> shown_queues{};
  // The kernels that copy elements of a size, built when first needed, without a lock (base/
  // first_made.hpp).  `size`: the logarithm.  It enters the runtime, so the caller has released the
  // GIL.
  static constexpr int kernel_sizes = 5;
  const Module& copy_kernels(int size, const Spirv& spirv,
                             const std::array<const char*, Module::kernel_count>& names) const;
  // Address of this entry's sycl::device / sycl::context, valid for ever.
  const void* device_address() const noexcept;
  const void* context_address() const noexcept;

 private:
  const Queue& fetch_queue() const;
  // Made without a lock: a fork would wait for that lock, and so for the runtime.
  mutable FirstMade<const Queue, true> commands_;
  mutable FirstMade<const Queue> queue_of_dpctl_, queue_before_dpctl_, extension_queue_;
  mutable std::array<FirstMade<const Module>, kernel_sizes> copy_kernels_;
};

// Whether the device has USM of that kind.
inline bool has_usm(const Entry& entry, UsmKind kind) noexcept {
  return entry.usm[static_cast<std::size_t>(kind)];
}

// Whether the host may read and write memory of this kind on this entry.  An entry of nullptr
// stands for host memory without a device.
inline bool host_accessible(UsmKind kind, const Entry* entry) noexcept {
  return is_on_host(kind) || (entry && entry->host_memory);
}

// Whether two entries are bound to one sycl::context.
bool same_context(const Entry& a, const Entry& b) noexcept;

}  // namespace sycl_ext
