// SPDX-License-Identifier: Apache-2.0
#include "runtime/sycl/kernel.hpp"

#include <chrono>
#include <sycl/kernel_bundle.hpp>
#include <vector>

#include "base/forced_unwind.hpp"
#include "base/until_end.hpp"
#include "runtime/sycl/handles.hpp"
#include "runtime/sycl/kernel_state.hpp"
#include "runtime/sycl/runtime_call.hpp"

namespace sycl_ext {

namespace {

UntilEnd compilers;

}  // namespace

void end_compilers() { compilers.end(std::chrono::seconds(10)); }

Module build_module(const void* device, const void* context, const Spirv& spirv,
                    const std::array<const char*, Module::kernel_count>& names) {
  namespace compiler = sycl::ext::oneapi::experimental;
  const auto& built_for = *static_cast<const sycl::device*>(device);
  Module module;
  const UntilEnd::Visit visit(compilers);
  if (!visit) hang();  // not counted as a thread in the runtime
  const RuntimeCall call("building kernels");
  try {
    const auto* const first = reinterpret_cast<const std::byte*>(spirv.bytes);
    auto source = compiler::create_kernel_bundle_from_source(
        *static_cast<const sycl::context*>(context), compiler::source_language::spirv,
        std::vector<std::byte>(first, first + spirv.size));
    auto bundle = compiler::build(source, {built_for});
    for (int i = 0; i < Module::kernel_count; ++i) {
      module.kernels[i] =
          std::make_shared<const KernelState>(KernelState{bundle.ext_oneapi_get_kernel(names[i])});
    }
  } catch (const sycl::exception& error) {
    if (is_device_lost(error, built_for.get_backend())) throw;
    module = {{}, error.what()};
  }
  return module;
}

}  // namespace sycl_ext
