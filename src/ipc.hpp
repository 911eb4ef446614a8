// SPDX-License-Identifier: Apache-2.0
// Floor 6. Device USM of one process, opened by another one on the same device: the inter-process
// handles of SYCL.
#pragma once

#include <memory>
#include <string>

#include "tensor.hpp"

namespace sycl_ext {

// Whether the device memory of a row can be opened by other processes.
bool has_ipc(const Row& row);

// What identifies the device of a row in every process of the machine; empty: it does not say.
std::string device_uuid(const Row& row);

// The handle of a block, valid as long as this object is; it keeps the block.
class IpcExport {
 public:
  // Error(buffer) unless the block is device USM of our own making on a device that has_ipc().
  explicit IpcExport(Memory memory);
  ~IpcExport();
  IpcExport(const IpcExport&) = delete;
  IpcExport& operator=(const IpcExport&) = delete;

  std::string bytes() const;

 private:
  struct Handle;
  Memory memory_;
  std::unique_ptr<Handle> handle_;
};

// The block behind a handle of another process, which must have made it on the row's device, with
// `nbytes` bytes.  Error(runtime): the runtime does not take the handle; Error(buffer): the block
// is not device USM of that size.
Memory open_ipc(const Row& row, const std::string& handle, std::size_t nbytes);

}  // namespace sycl_ext
