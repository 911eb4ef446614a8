// SPDX-License-Identifier: Apache-2.0
#include "runtime/sycl/device_mark.hpp"

#include <memory>
#include <string>
#include <sycl/backend.hpp>
#include <sycl/detail/backend_traits_opencl.hpp>
#include <sycl/ext/oneapi/experimental/profiling_tag.hpp>
#include <vector>

#include "base/first_made.hpp"
#include "runtime/sycl/bug_v1_profiling_tag.hpp"
#include "runtime/sycl/runtimes.hpp"

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

// The functions of OpenCL that a mark needs.  They are part of OpenCL 1.2, and the runtime itself
// needs a later version.
struct Functions {
  // Not a marker: libintelocl crashes when another thread enqueues meanwhile.
  decltype(clEnqueueBarrierWithWaitList)* enqueue_barrier;
  decltype(clGetEventInfo)* get_event_info;
  decltype(clReleaseCommandQueue)* release_queue;
  decltype(clReleaseEvent)* release_event;

  bool are_found() const noexcept {
    return enqueue_barrier && get_event_info && release_queue && release_event;
  }
};

Functions find_functions() noexcept {
  return {
      opencl_function<decltype(clEnqueueBarrierWithWaitList)>("clEnqueueBarrierWithWaitList"),
      opencl_function<decltype(clGetEventInfo)>("clGetEventInfo"),
      opencl_function<decltype(clReleaseCommandQueue)>("clReleaseCommandQueue"),
      opencl_function<decltype(clReleaseEvent)>("clReleaseEvent"),
  };
}

FirstMade<const Functions> the_functions;

const Functions& opencl() { return the_functions.get(find_functions); }

std::optional<sycl::event> mark_opencl(const QueueState& state) {
  auto native = static_cast<cl_command_queue>(state.native.load(std::memory_order_acquire));
  if (!native) {
    native = sycl::get_native<sycl::backend::opencl>(state.queue);
    state.native.store(native, std::memory_order_release);
    opencl().release_queue(native);
  }
  cl_event end = nullptr;
  const cl_int failed = opencl().enqueue_barrier(native, 0, nullptr, &end);
  if (failed != 0) {
    throw sycl::exception(sycl::make_error_code(sycl::errc::runtime),
                          "clEnqueueBarrierWithWaitList says " + std::to_string(failed));
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
