// SPDX-License-Identifier: Apache-2.0
// Device USM of one process, opened by another one on the same device: the inter-process
// handles of SYCL.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "runtime/usm.hpp"

namespace sycl_ext {

// Whether the device memory of an entry can be opened by other processes.
bool has_ipc(const Entry& entry);

// The handle of `nbytes` bytes in a block, which keeps the block.  Every function of this class and
// open_ipc() take locks of the runtime and may wait: call them without the GIL.
//
// A handle exports the allocation of the driver around these bytes, and holds their offset in it:
// the Level Zero adapters put what is smaller than 4 MiB into slabs with other blocks, all of which
// whoever opens the handle can reach.  The adapters keep the driver's handle until the allocation
// is freed, whatever becomes of this object.  In a process that was forked, the handle is left
// alone: it is the parent's.
class IpcExport {
 public:
  // Error(buffer) unless the bytes are 'device' USM in an allocation that the driver knows.
  IpcExport(Memory memory, const std::byte* data, std::size_t nbytes);
  ~IpcExport();
  IpcExport(const IpcExport&) = delete;
  IpcExport& operator=(const IpcExport&) = delete;

  std::string bytes() const;
  // Size of the driver's allocation; 0: there is no driver that could be asked.
  std::size_t exposed() const noexcept { return exposed_; }

 private:
  struct Handle;
  Memory memory_;
  std::size_t exposed_ = 0;
  std::unique_ptr<Handle> handle_;
};

// A descriptor that is closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor();

 private:
  int number_;
};

// The `nbytes` bytes behind a handle of another process, which must have made it on the entry's
// device.  `lease` is closed when the memory is: its maker sees by a lock on it that somebody has
// the memory open.  Error(runtime): the runtime does not take the handle; Error(buffer): what it
// leads to is not device USM of at least that size.
//
// The bytes are believed: they hold a process, a descriptor and an offset that the runtime follows
// without a check.  They must come from that process itself, not from a message (see
// sycl_ext/_ipc/handles.py).  Closing releases the GIL; the adapters keep the mapping for the next
// time the allocation is opened.
Memory open_ipc(const Entry& entry, const std::string& handle, std::size_t nbytes,
                Descriptor lease = Descriptor());

}  // namespace sycl_ext
