// Handles of events for other processes.  A handle is a snapshot, as that of Intel's driver is
// where it has no pidfd: it stands for the command that was given the event last, and an event that
// was given to none has no handle.  The first words are a process and a file descriptor there.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "event.hpp"
#include "faults.hpp"

using namespace stand_in;

namespace {

struct Handle {
  int process, file;
};
static_assert(sizeof(Handle) <= sizeof(ze_ipc_event_counter_based_handle_t), "");

// A file of another process; -1: the kernel refuses.
int file_of(const Handle& handle) {
  const auto process = static_cast<int>(syscall(SYS_pidfd_open, handle.process, 0));
  if (process < 0) return -1;
  const auto file = static_cast<int>(syscall(SYS_pidfd_getfd, process, handle.file, 0));
  close(process);
  return file;
}

}  // namespace

ZE_API ze_result_t zeEventCounterBasedGetIpcHandle(ze_event_handle_t handle,
                                                   ze_ipc_event_counter_based_handle_t* opaque) {
  if (faults().now()) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  Event& event = of<Event>(handle);
  if (!event.ipc || !event.is_assigned()) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  const SharedFlagPointer flag = event.current()->share();
  if (!flag) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  const Handle mine{getpid(), flag->file()};
  std::memset(opaque, 0, sizeof *opaque);
  std::memcpy(opaque, &mine, sizeof mine);
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeEventCounterBasedOpenIpcHandle(ze_context_handle_t,
                                                    ze_ipc_event_counter_based_handle_t opaque,
                                                    ze_event_handle_t* out) {
  if (faults().now()) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  Handle handle;
  std::memcpy(&handle, &opaque, sizeof handle);
  const int file = file_of(handle);
  if (file < 0) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  const auto signal = std::make_shared<Signal>(std::make_shared<SharedFlag>(file));
  *out = handle_of<ze_event_handle_t>(new Event(signal));
  ++faults().opened_events;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeEventCounterBasedCloseIpcHandle(ze_event_handle_t event) {
  delete &of<Event>(event);
  --faults().opened_events;
  return ZE_RESULT_SUCCESS;
}
