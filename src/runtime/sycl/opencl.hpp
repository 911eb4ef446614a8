// SPDX-License-Identifier: Apache-2.0
// OpenCL functions, and queries to an OpenCL driver that SYCL answers wrongly.
#pragma once

#include <optional>

#include "runtime/sycl/handles.hpp"
#include "runtime/sycl/runtimes.hpp"

namespace sycl_ext {

// A function of the OpenCL loader, which the adapter of the runtime keeps loaded; nullptr: the
// loader has no such function.
template <class Function>
Function* opencl_function(const char* name) noexcept {
  return reinterpret_cast<Function*>(loaded_symbol("libOpenCL.so.1", name));
}

// The device that USM of an OpenCL context was allocated on; nullopt: the driver names none, for
// example because the memory belongs to no single device.  sycl::get_pointer_device cannot be used:
// its adapter does not ask the driver, and names the first device of the context for all memory.
std::optional<sycl::device> device_of_opencl_memory(const void* pointer,
                                                    const sycl::context& context);

}  // namespace sycl_ext
