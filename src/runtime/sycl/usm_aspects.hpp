// SPDX-License-Identifier: Apache-2.0
// The kinds of unified shared memory as SYCL names them.
#pragma once

#include <array>

#include "runtime/sycl/handles.hpp"
#include "runtime/sycl/usm_kind.hpp"

namespace sycl_ext {

// The SYCL constant of a kind.
sycl::usm::alloc alloc_of(UsmKind kind) noexcept;

// Whether a device has each of the kinds, in the order of UsmKind.
std::array<bool, usm_kind_count> usm_of(const sycl::device& device);

}  // namespace sycl_ext
