// SPDX-License-Identifier: Apache-2.0
#include "runtime/sycl/opencl_queue.hpp"

#include "base/first_made.hpp"
#include "runtime/sycl/runtimes.hpp"

namespace sycl_ext {

namespace {

OpenClFunctions find_functions() noexcept {
  return {
      opencl_function<decltype(clEnqueueBarrierWithWaitList)>("clEnqueueBarrierWithWaitList"),
      opencl_function<decltype(clFlush)>("clFlush"),
      opencl_function<decltype(clGetEventInfo)>("clGetEventInfo"),
      opencl_function<decltype(clReleaseCommandQueue)>("clReleaseCommandQueue"),
      opencl_function<decltype(clReleaseEvent)>("clReleaseEvent"),
  };
}

FirstMade<const OpenClFunctions> the_functions;

}  // namespace

const OpenClFunctions& opencl() { return the_functions.get(find_functions); }

cl_command_queue native_queue(const sycl::queue& queue, std::atomic<void*>* known) {
  auto native = static_cast<cl_command_queue>(known->load(std::memory_order_acquire));
  if (!native) {
    native = sycl::get_native<sycl::backend::opencl>(queue);
    known->store(native, std::memory_order_release);
    opencl().release_queue(native);
  }
  return native;
}

}  // namespace sycl_ext
