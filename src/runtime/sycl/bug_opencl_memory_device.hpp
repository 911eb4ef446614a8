// SPDX-License-Identifier: Apache-2.0
// Works around a bug of the OpenCL adapter: sycl::get_pointer_device names the first device of the
// context for all memory, because the adapter does not ask the driver.
//
// Report: docs/develop/reports/opencl-adapter-questions.md
// Repaired in: no release so far (2026.2.0 has it).
// Then: delete this file and its source, and the line in usm_pointers.cpp that calls it.
#pragma once

#include <optional>

#include "runtime/sycl/handles.hpp"

namespace sycl_ext::bug {

// The device that USM of an OpenCL context was allocated on; nullopt: the driver names none, for
// example because the memory belongs to no single device.
std::optional<sycl::device> device_of_opencl_memory(const void* pointer,
                                                    const sycl::context& context);

}  // namespace sycl_ext::bug
