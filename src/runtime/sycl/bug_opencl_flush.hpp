// SPDX-License-Identifier: Apache-2.0
// Works around a bug of the OpenCL adapter: queue::ext_oneapi_prod(), which flushes a queue, waits
// for all its work.  So a copy with wait=False waited, and so did the thread that frees.
//
// Report: none needed; urQueueFlush calls clFinish in
// https://github.com/oneapi-src/unified-runtime/blob/main/source/adapters/opencl/queue.cpp
// Repaired in: 2026.2.0.  PyTorch with XPU requires 2026.0.0 and 2026.1.
// Then: delete this file, and call ext_oneapi_prod() in the three lines that call it.
#pragma once

#include <string>

#include "runtime/sycl/opencl_queue.hpp"

namespace sycl_ext::bug {

// Hands the commands of a queue to the device.  The caller is in a RuntimeCall.
template <class State>
void flush(const State& state) {
  if (state.queue.get_backend() != sycl::backend::opencl || !opencl().are_found()) {
    sycl::queue(state.queue).ext_oneapi_prod();
    return;
  }
  const cl_int failed = opencl().flush(native_queue(state.queue, &state.native));
  if (failed != CL_SUCCESS) {
    throw sycl::exception(sycl::make_error_code(sycl::errc::runtime),
                          "clFlush returned " + std::to_string(failed));
  }
}

}  // namespace sycl_ext::bug
