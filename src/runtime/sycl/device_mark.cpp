// SPDX-License-Identifier: Apache-2.0
#include "runtime/sycl/device_mark.hpp"

#include <memory>
#include <string>
#include <sycl/ext/oneapi/experimental/profiling_tag.hpp>
#include <vector>

#include "runtime/sycl/bug_v1_profiling_tag.hpp"
#include "runtime/sycl/opencl_queue.hpp"

// A barrier of SYCL would be harmful here, and its answer wrong.  libsycl makes a barrier wait for
// all host tasks of the queue, and makes everything that is submitted later wait for the barrier.
// dpctl's host tasks want the GIL, and a thread that waits for a later command may hold it, so that
// would be a deadlock.  And once a barrier has passed, the next one may miss commands that libsycl
// still holds back.  (finalizeHandlerOutOfOrder and doUnenqueuedCommandCleanup in
// https://github.com/intel/llvm/blob/sycl/sycl/source/detail/queue_impl.cpp)
//
// So OpenCL and the v2 adapter of Level Zero are asked in ways that libsycl does not treat as a
// barrier of the queue.  Other adapters have no such way.

namespace sycl_ext {

namespace {

std::optional<sycl::event> mark_opencl(const QueueState& state) {
  cl_event end = nullptr;
  const cl_int failed =
      opencl().enqueue_barrier(native_queue(state.queue, &state.native), 0, nullptr, &end);
  if (failed != 0) {
    throw sycl::exception(sycl::make_error_code(sycl::errc::runtime),
                          "clEnqueueBarrierWithWaitList returned " + std::to_string(failed));
  }
  const std::unique_ptr<_cl_event, cl_int (*)(cl_event)> owner(end, opencl().release_event);
  cl_int status = -1;
  opencl().get_event_info(end, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
  if (status == CL_COMPLETE) return std::nullopt;
  return sycl::make_event<sycl::backend::opencl>(std::vector<cl_event>{end},
                                                 state.queue.get_context());
}

}  // namespace

std::optional<sycl::event> mark_device(const QueueState& state) {
  if (state.answers_at_once && opencl().are_found()) return mark_opencl(state);
  sycl::queue queue = state.queue;
  const sycl::device device = queue.get_device();
  bool can_tag = device.has(sycl::aspect::ext_oneapi_queue_profiling_tag);
  if (bug::ends_process_by_profiling_tag(device)) can_tag = false;
  if (can_tag) {
    return sycl::ext::oneapi::experimental::submit_profiling_tag(queue);
  }
  return queue.ext_oneapi_submit_barrier();
}

}  // namespace sycl_ext
