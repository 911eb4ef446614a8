// SPDX-License-Identifier: Apache-2.0
// The end of all that a device has been given on an out-of-order queue.
//
// A barrier of SYCL would do harm there, and would not even be right.  libsycl has it wait for all
// host tasks of the queue, and has everything that is submitted later wait for it; dpctl's host
// tasks want the GIL, which somebody may hold who waits for a later command.  And once a barrier
// has passed, the next one may miss commands that libsycl still holds back.
// (finalizeHandlerOutOfOrder and doUnenqueuedCommandCleanup in
// https://github.com/intel/llvm/blob/sycl/sycl/source/detail/queue_impl.cpp)
// So the device is asked in ways that libsycl does not take for a barrier of the queue, where there
// is one: OpenCL and the v2 adapter of Level Zero.
#pragma once

#include <optional>

#include "runtime/sycl_handles.hpp"

namespace sycl_ext {

// The event of it; empty: all is done.  Commands that libsycl holds back, because they depend on a
// host task, and host tasks are not seen.
std::optional<sycl::event> mark_device(sycl::queue queue);

}  // namespace sycl_ext
