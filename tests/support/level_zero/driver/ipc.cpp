// Handles for other processes.  The first four bytes of one are a file descriptor, as in Intel's
// driver; UMF fetches the file from the other process (pidfd_getfd) before it calls
// zeMemOpenIpcHandle.
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "faults.hpp"
#include "memory.hpp"

using namespace stand_in;

namespace {

struct Handle {
  int file;
  std::uint64_t size;
};
static_assert(sizeof(Handle) <= sizeof(ze_ipc_mem_handle_t), "");

Handle read(const ze_ipc_mem_handle_t& opaque) {
  Handle handle;
  std::memcpy(&handle, &opaque, sizeof handle);
  return handle;
}

}  // namespace

ZE_API ze_result_t zeMemGetIpcHandle(ze_context_handle_t, const void* pointer,
                                     ze_ipc_mem_handle_t* opaque) {
  if (faults().now()) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  const std::shared_ptr<Block> block = memory().around(pointer);
  if (!block || block->file < 0) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  const Handle handle{fcntl(block->file, F_DUPFD_CLOEXEC, 0), block->size};
  std::memset(opaque, 0, sizeof *opaque);
  std::memcpy(opaque, &handle, sizeof handle);
  ++faults().ipc_handles;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeMemPutIpcHandle(ze_context_handle_t, ze_ipc_mem_handle_t opaque) {
  close(read(opaque).file);
  --faults().ipc_handles;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeMemOpenIpcHandle(ze_context_handle_t, ze_device_handle_t device,
                                      ze_ipc_mem_handle_t opaque, std::uint32_t, void** out) {
  if (faults().now()) return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  const Handle handle = read(opaque);
  const int file = fcntl(handle.file, F_DUPFD_CLOEXEC, 0);
  if (file < 0) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  return memory().open(&of<Device>(device), file, handle.size, out);
}

ZE_API ze_result_t zeMemCloseIpcHandle(ze_context_handle_t, const void* pointer) {
  return memory().free(pointer);
}
