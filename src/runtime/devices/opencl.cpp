// SPDX-License-Identifier: Apache-2.0
#include "runtime/devices/opencl.hpp"

#include <dlfcn.h>

#include <memory>
#include <sycl/backend.hpp>
#include <sycl/detail/backend_traits_opencl.hpp>

namespace sycl_ext {

namespace {

constexpr auto opencl = sycl::backend::opencl;

// A function of the OpenCL loader, which the runtime has loaded; nullptr: there is none.
template <class Function>
Function* in_loader(const char* name) noexcept {
  void* const loader = dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (!loader) return nullptr;
  void* const found = dlsym(loader, name);
  dlclose(loader);  // the adapter keeps it
  return reinterpret_cast<Function*>(found);
}

// A function of the extension cl_intel_unified_shared_memory, which each driver has for itself.
template <class Function>
Function* in_driver(const sycl::context& context, const char* name) {
  using Find = decltype(clGetExtensionFunctionAddressForPlatform);
  Find* const find = in_loader<Find>("clGetExtensionFunctionAddressForPlatform");
  if (!find) return nullptr;
  return reinterpret_cast<Function*>(find(sycl::get_native<opencl>(context.get_platform()), name));
}

}  // namespace

std::optional<sycl::device> device_of_opencl_memory(const void* pointer,
                                                    const sycl::context& context) {
  using Ask = cl_int(cl_context, const void*, cl_uint, std::size_t, void*, std::size_t*);
  constexpr cl_uint alloc_device = 0x419D;  // CL_MEM_ALLOC_DEVICE_INTEL
  Ask* const ask = in_driver<Ask>(context, "clGetMemAllocInfoINTEL");
  const auto release_context = in_loader<decltype(clReleaseContext)>("clReleaseContext");
  const auto release_device = in_loader<decltype(clReleaseDevice)>("clReleaseDevice");
  if (!ask || !release_context || !release_device) return std::nullopt;
  // Each handle that SYCL hands out is counted once more.
  const std::unique_ptr<_cl_context, decltype(release_context)> native(
      sycl::get_native<opencl>(context), release_context);
  cl_device_id owner = nullptr;
  if (ask(native.get(), pointer, alloc_device, sizeof owner, &owner, nullptr) || !owner) {
    return std::nullopt;
  }
  for (const sycl::device& device : context.get_devices()) {
    const cl_device_id one = sycl::get_native<opencl>(device);
    release_device(one);
    if (one == owner) return device;
  }
  return std::nullopt;
}

}  // namespace sycl_ext
