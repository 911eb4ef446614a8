// SPDX-License-Identifier: Apache-2.0
#include "runtime/sycl/bug_opencl_memory_device.hpp"

#include <cstddef>
#include <memory>
#include <sycl/backend.hpp>
#include <sycl/detail/backend_traits_opencl.hpp>

#include "runtime/sycl/runtimes.hpp"

namespace sycl_ext::bug {

namespace {

constexpr auto opencl = sycl::backend::opencl;

// A function of the extension cl_intel_unified_shared_memory, which each driver has for itself.
template <class Function>
Function* driver_function(const sycl::context& context, const char* name) {
  const auto look_up = opencl_function<decltype(clGetExtensionFunctionAddressForPlatform)>(
      "clGetExtensionFunctionAddressForPlatform");
  if (!look_up) return nullptr;
  const auto platform = sycl::get_native<opencl>(context.get_platform());
  return reinterpret_cast<Function*>(look_up(platform, name));
}

}  // namespace

std::optional<sycl::device> device_of_opencl_memory(const void* pointer,
                                                    const sycl::context& context) {
  using GetInfo = cl_int(cl_context, const void*, cl_uint, std::size_t, void*, std::size_t*);
  constexpr cl_uint alloc_device = 0x419D;  // CL_MEM_ALLOC_DEVICE_INTEL
  const auto get_info = driver_function<GetInfo>(context, "clGetMemAllocInfoINTEL");
  const auto release_context = opencl_function<decltype(clReleaseContext)>("clReleaseContext");
  const auto release_device = opencl_function<decltype(clReleaseDevice)>("clReleaseDevice");
  if (!get_info || !release_context || !release_device) return std::nullopt;
  // Each handle that SYCL hands out is counted once more.
  const std::unique_ptr<_cl_context, decltype(release_context)> native_context(
      sycl::get_native<opencl>(context), release_context);
  cl_device_id owner = nullptr;
  const cl_int error =
      get_info(native_context.get(), pointer, alloc_device, sizeof owner, &owner, nullptr);
  if (error || !owner) return std::nullopt;
  for (const sycl::device& device : context.get_devices()) {
    const cl_device_id native_device = sycl::get_native<opencl>(device);
    release_device(native_device);
    if (native_device == owner) return device;
  }
  return std::nullopt;
}

}  // namespace sycl_ext::bug
