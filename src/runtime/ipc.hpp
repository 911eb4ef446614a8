// SPDX-License-Identifier: Apache-2.0
// Device USM of one process, opened by another one on the same device: the inter-process
// handles of SYCL.
#pragma once

#include <memory>
#include <string>

#include "runtime/usm.hpp"

namespace sycl_ext {

// Whether the device memory of an entry can be opened by other processes.
bool has_ipc(const Entry& entry);

// What identifies the device of an entry in every process of the machine; empty: it does not say.
std::string device_uuid(const Entry& entry);

// The handle of a block, which keeps the block.  Every function of this class and open_ipc() take
// locks of the runtime and may wait: call them without the GIL.
//
// The Level Zero adapters keep the driver's handle until the block is freed, whatever becomes of
// this object.  In a process that was forked, the handle is left alone: it is the parent's.
class IpcExport {
 public:
  // Error(buffer) unless the block is_dedicated() and nothing else is in its allocation.
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

// The block behind a handle of another process, which must have made it on the entry's device, with
// `nbytes` bytes.  Error(runtime): the runtime does not take the handle; Error(buffer): what it
// leads to is not the start of device USM of at least that size.
//
// The bytes are believed: they hold a process, a descriptor and an offset that the runtime follows.
// They must come from that process itself, not from a message (see sycl_ext/_ipc/handles.py).
// Closing neither locks nor waits; the adapters keep the mapping for the next time the block is
// opened.
Memory open_ipc(const Entry& entry, const std::string& handle, std::size_t nbytes);

}  // namespace sycl_ext
