// SPDX-License-Identifier: Apache-2.0
// Functions of OpenCL, and the questions to a driver of OpenCL that SYCL answers wrongly.
#pragma once

#include <optional>

#include "runtime/sycl/handles.hpp"

namespace sycl_ext {

// The address of a function in the OpenCL loader, which the runtime has loaded; nullptr: there is
// none.
void* opencl_symbol(const char* name) noexcept;

template <class Function>
Function* opencl_function(const char* name) noexcept {
  return reinterpret_cast<Function*>(opencl_symbol(name));
}

// The device that USM of an OpenCL context was allocated on; nothing: the driver names none, as for
// memory of no single device. sycl::get_pointer_device names the first device of the context there,
// whatever the memory: the adapter does not ask the driver.
std::optional<sycl::device> device_of_opencl_memory(const void* pointer,
                                                    const sycl::context& context);

}  // namespace sycl_ext
