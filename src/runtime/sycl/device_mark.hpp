// SPDX-License-Identifier: Apache-2.0
// A marker behind all commands of a device that were submitted to an out-of-order queue.
#pragma once

#include <optional>

#include "runtime/sycl/commands.hpp"
#include "runtime/sycl/handles.hpp"

namespace sycl_ext {

// The event that ends after all commands that the device was given on an out-of-order queue; empty:
// all of them are done.  It does not cover host tasks, nor commands that libsycl holds back because
// they depend on a host task.
std::optional<sycl::event> mark_device(const QueueState& state);

}  // namespace sycl_ext
