// SPDX-License-Identifier: Apache-2.0
// An object of any type and its release, which must not throw.
#pragma once

#include <memory>

namespace sycl_ext {

using Owner = std::unique_ptr<void, void (*)(void*)>;

}  // namespace sycl_ext
