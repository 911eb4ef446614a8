// SPDX-License-Identifier: Apache-2.0
// The SYCL objects of an entry (Entry::sycl).
#pragma once

#include <cstdint>

#include "runtime/sycl/handles.hpp"

namespace sycl_ext {

struct EntryHandles {
  sycl::device device;
  sycl::context context;
  std::uintptr_t native_context;  // 0: no driver shares it between contexts
};

}  // namespace sycl_ext
