// SPDX-License-Identifier: Apache-2.0
// Floor 3. The device table: integer -> (device, context, in-order queue), the table that DLPack
// lacks.  Rows 0..R-1 are the root devices in the order of sycl::device::get_devices(), each with
// its platform's default context; rows for sub-devices and registered contexts follow in order of
// registration.  Rows are immortal: never removed, renumbered or reused, so a plain `const Row*`
// is a valid handle for ever, and holding a row is holding its context.
//
// Nothing is enumerated before the first call of this file.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "block_pool.hpp"
#include "queue.hpp"

namespace sycl_ext {

struct RowHandles;  // sycl_handles.hpp

enum class RowKind { root, sub_device, context };

class Row {
 public:
  int id = -1;
  int root_id = -1;             // the root device this row's device is, or is a part of
  const Row* parent = nullptr;  // the row it was cut from or registered for; nullptr for a root
  RowKind kind = RowKind::root;
  bool default_context = false;  // bound to the default context of its platform
  std::string name;
  std::string backend;        // "opencl", "level_zero", ...
  std::string device_type;    // "cpu", "gpu", "accelerator"
  std::string filter_string;  // "opencl:cpu:0"; empty for rows that are no root
  std::string driver_version;
  // Aspects.
  bool fp16 = false, fp64 = false;
  bool usm_device = false, usm_shared = false, usm_host = false, usm_system = false;
  bool single_device = false;  // every allocation of the context was made on this very device
  bool host_memory =
      false;  // the device's memory is the host's: device USM can be read by the host
  std::shared_ptr<const RowHandles> sycl;
  // Small blocks kept for the next allocation of each kind of USM (usm.cpp).
  mutable std::array<BlockPool, 3> pools;

  // The row's own in-order queue, made when first needed.
  const Queue& queue() const;
  // A new sycl::context on the heap for a "SyclContextRef" capsule, and its way back.
  void* new_context_reference() const;
  static void delete_context_reference(void* reference) noexcept;
  // Address of this row's sycl::device / sycl::context, valid for ever.
  const void* device_address() const noexcept;
  const void* context_address() const noexcept;

 private:
  mutable std::once_flag queue_made_;
  mutable Queue queue_;
};

int root_count();
int row_count();
// Error(value) when there is no such row; the message lists what exists.
const Row& row_at(int id);
const Row* find_row(int id) noexcept;  // nullptr: no such row

// Row of the root device that SYCL's default selector chooses.  Error(runtime): no device at all.
const Row& default_row();

// Row of a device and a context, appended when it is new.  The arguments are addresses of a
// sycl::device and a sycl::context.
const Row& row_of(const void* device, const void* context);
// The same for the device and context of a queue.
const Row& row_of(const Queue& queue);
// Row of a context: of its only device, or of `device` when that is given.
const Row& row_of_context(const void* context, const void* device);
// Error(value) when no sycl::context of this process's runtime can be at the address.
void require_context_at(const void* address);
// Row of a root device (or of a sub-device, in the context where it can live).
const Row& row_of_device(const void* device);

// Whether two rows are bound to one sycl::context.
bool same_context(const Row& a, const Row& b) noexcept;
// Whether a queue of one of the two rows can copy between *device* USM of both.
bool copies_directly(const Row& from, const Row& to);

// Error(buffer) naming the device and the missing aspect.
void require_usm(const Row& row, bool aspect, const char* usm_type);

}  // namespace sycl_ext
