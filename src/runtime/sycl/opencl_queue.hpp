// SPDX-License-Identifier: Apache-2.0
// The queue of OpenCL under a queue of SYCL, for what SYCL has no call for.
#pragma once

#include <atomic>
#include <sycl/backend.hpp>
#include <sycl/detail/backend_traits_opencl.hpp>
#include <sycl/queue.hpp>

namespace sycl_ext {

// Functions of OpenCL 1.2; the runtime itself needs a later version.
struct OpenClFunctions {
  // Not a marker: libintelocl crashes when another thread enqueues meanwhile.
  decltype(clEnqueueBarrierWithWaitList)* enqueue_barrier;
  decltype(clFlush)* flush;
  decltype(clGetEventInfo)* get_event_info;
  decltype(clReleaseCommandQueue)* release_queue;
  decltype(clReleaseEvent)* release_event;

  bool are_found() const noexcept {
    return enqueue_barrier && flush && get_event_info && release_queue && release_event;
  }
};

const OpenClFunctions& opencl();

// The queue of OpenCL, which that of SYCL holds.  `known` keeps it from the first call on; nullptr:
// not asked.  The functions must have been found.
cl_command_queue native_queue(const sycl::queue& queue, std::atomic<void*>* known);

}  // namespace sycl_ext
