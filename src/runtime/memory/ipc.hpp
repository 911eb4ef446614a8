// SPDX-License-Identifier: Apache-2.0
// Inter-process handles of SYCL: one process makes device USM, and another process opens it on the
// same device.
#pragma once

#include <string>

#include "runtime/memory/usm.hpp"

namespace sycl_ext {

// Whether the device memory of an entry can be opened by other processes.
bool has_ipc(const Entry& entry);

// The handle of `nbytes` bytes in a block.
//
// A handle exports the allocation of the driver that contains these bytes, and their offset in it.
// The Level Zero adapters put blocks of less than 4 MiB into slabs with other blocks, which a
// process that opens the handle can access.  The adapters keep the handle of the driver until the
// allocation is freed.  A forked process leaves the handle to its parent.
struct IpcExport {
  std::string bytes;
  std::size_t exposed;  // size of the driver's allocation; 0: unknown
  Owner handle;         // keeps the block
};
// Error(buffer) unless the bytes are 'device' USM in an allocation that the driver knows.
IpcExport export_ipc(const Memory& memory, const std::byte* data, std::size_t nbytes);

// Opens the `nbytes` bytes of a handle that another process has made on the device of the entry.
// `lease` is released after the mapping; while it exists, the process that made the memory keeps
// it.  Error(runtime): the runtime does not accept the handle.  Error(buffer): the memory is not
// device USM of at least that size.
//
// The bytes of the handle are trusted: they contain a process, a descriptor and an offset, which
// the runtime uses without a check.  So they must come from that process itself, not from a message
// (sycl_ext/_ipc/handles.py). Closing releases the GIL. The adapters keep the mapping for the next
// handle of the same memory.
Memory open_ipc(const Entry& entry, const std::string& handle, std::size_t nbytes, Owner lease);
// The lease of an opened block, or of the opened block that it is a view of; nullptr: there is
// none.
void* lease_of(const Memory& memory) noexcept;

}  // namespace sycl_ext
