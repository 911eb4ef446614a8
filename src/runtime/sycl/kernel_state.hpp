// SPDX-License-Identifier: Apache-2.0
// The SYCL object of a kernel.
#pragma once

#include <sycl/kernel.hpp>

namespace sycl_ext {

struct KernelState {
  sycl::kernel kernel;
};

}  // namespace sycl_ext
