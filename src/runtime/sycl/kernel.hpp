// SPDX-License-Identifier: Apache-2.0
// Kernels of this package: SPIR-V that the runtime's kernel compiler builds for one device.
//
// https://github.com/intel/llvm/blob/sycl/sycl/doc/extensions/experimental/sycl_ext_oneapi_kernel_compiler_spirv.asciidoc
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

namespace sycl_ext {

struct KernelState;  // kernel.cpp

// SPIR-V in a table of constants.
struct Spirv {
  const unsigned char* bytes;
  std::size_t size;
};

// The kernels of a module, built for one device in one context.  Where the device takes none of
// them, the module has no kernels, and says why.
struct Module {
  static constexpr int kernel_count = 2;
  std::array<std::shared_ptr<const KernelState>, kernel_count> kernels;
  std::string failure;

  explicit operator bool() const noexcept { return kernels[0] != nullptr; }
};

// Builds the kernels of these names.  A failure of the compiler is a module without kernels; a lost
// device is an exception.  It may take a second, and takes no lock.  `device` and `context` are
// addresses of a sycl::device and a sycl::context.
Module build_module(const void* device, const void* context, const Spirv& spirv,
                    const std::array<const char*, Module::kernel_count>& names);

// Called when the interpreter begins to end.  A compiler makes static objects while it runs, which
// are destroyed before a `RuntimeCall` is waited for (runtime_call.hpp).  So this waits for the
// threads that build kernels, for ten seconds at most; from now on no other thread builds any.
void end_compilers();

// One launch of a kernel with three arguments: the target, the source, and a struct by value.
struct Launch {
  std::shared_ptr<const KernelState> kernel;
  std::byte* to;
  const std::byte* from;
  std::array<std::byte, 96> loops;
  // Of the dimensions as OpenCL counts them: dimension 0 is the fast one.
  std::array<std::size_t, 3> items, group;
  // The bytes from `to` on in which the kernel writes.
  std::size_t nbytes;
};

}  // namespace sycl_ext
