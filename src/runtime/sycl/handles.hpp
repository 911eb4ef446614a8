// SPDX-License-Identifier: Apache-2.0
// The SYCL runtime: its headers, and its errors as ours.
//
// Only runtime/ includes it, in sources rather than in headers where that is possible, because it
// makes a build long.  Only calls that hide no kernel are used: a plain C++ compiler builds this.
#pragma once

#include <unified-runtime/ur_api.h>

#include <string>
#include <sycl/context.hpp>
#include <sycl/device.hpp>
#include <sycl/feature_test.hpp>
#include <sycl/platform.hpp>
#include <sycl/properties/all_properties.hpp>
#include <sycl/queue.hpp>
#include <sycl/usm.hpp>
#include <sycl/version.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/owner.hpp"

namespace sycl_ext {

inline bool is_device_lost(const sycl::exception& error) noexcept {
  return sycl::detail::get_ur_error(error) == UR_RESULT_ERROR_DEVICE_LOST;
}

// A copy on the heap.
template <class Object>
Owner new_reference_of(const Object& object) {
  return {new Object(object), [](void* copy) { delete static_cast<Object*>(copy); }};
}

// Runs `call`; exceptions of SYCL become Error(runtime) with their text.
template <class Call>
auto sycl_call(const char* what, Call&& call) -> decltype(call()) {
  try {
    return std::forward<Call>(call)();
  } catch (const sycl::exception& error) {
    const std::string text = std::string(what) + " failed: " + error.what() + " (sycl::errc " +
                             std::to_string(error.code().value()) + ")";
    if (is_device_lost(error)) throw DeviceLost(text);
    throw Error(Error::Kind::runtime, text);
  }
}

}  // namespace sycl_ext
