// SPDX-License-Identifier: Apache-2.0
// The SYCL runtime: its headers, and its errors as ours.
//
// Only runtime/ includes it, in sources rather than in headers where that is possible, because it
// makes a build long.  Only calls that hide no kernel are used: a plain C++ compiler builds this.
#pragma once

#include <unified-runtime/ur_api.h>

#include <optional>
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

inline bool is_cuda_or_hip(std::optional<sycl::backend> backend) noexcept {
  return backend == sycl::backend::ext_oneapi_cuda || backend == sycl::backend::ext_oneapi_hip;
}

// Whether a call has failed because the device is lost.  The adapters of CUDA and HIP have no error
// for that: after a fault of a kernel their drivers answer every call with the same error, for
// ever, and most of these errors are UNKNOWN in the runtime.
inline bool is_device_lost(const sycl::exception& error,
                           std::optional<sycl::backend> backend = std::nullopt) noexcept {
  const auto code = sycl::detail::get_ur_error(error);
  if (code == UR_RESULT_ERROR_DEVICE_LOST) return true;
  return is_cuda_or_hip(backend) && code == UR_RESULT_ERROR_UNKNOWN;
}

// A copy on the heap.
template <class Object>
Owner new_reference_of(const Object& object) {
  return {new Object(object), [](void* copy) { delete static_cast<Object*>(copy); }};
}

// Runs `call`; exceptions of SYCL become Error(runtime) with their text.  `backend`: of the one
// device that is asked.
template <class Call>
auto sycl_call(const char* what, Call&& call, std::optional<sycl::backend> backend = std::nullopt)
    -> decltype(call()) {
  try {
    return std::forward<Call>(call)();
  } catch (const sycl::exception& error) {
    const std::string text = std::string(what) + " failed: " + error.what() + " (sycl::errc " +
                             std::to_string(error.code().value()) + ")";
    if (is_device_lost(error, backend)) throw DeviceLost(text);
    throw Error(Error::Kind::runtime, text);
  }
}

}  // namespace sycl_ext
