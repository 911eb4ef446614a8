// SPDX-License-Identifier: Apache-2.0
// The mark behind all that a device has been given on an out-of-order queue.
#pragma once

#include <optional>

#include "runtime/sycl/commands.hpp"
#include "runtime/sycl/handles.hpp"

namespace sycl_ext {

// The event that ends after all that a device has been given on an out-of-order queue; empty: all
// of it is done.  Commands that libsycl holds back, because they depend on a host task, and host
// tasks are not seen.
std::optional<sycl::event> mark_device(const QueueState& state);

// Whether it is the adapter of Level Zero for GPUs before Battlemage.
bool is_level_zero_v1(const sycl::device& device);

}  // namespace sycl_ext
