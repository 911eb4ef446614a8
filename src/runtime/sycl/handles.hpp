// SPDX-License-Identifier: Apache-2.0
// The headers of the SYCL runtime, and the translation of its errors.
//
// Only runtime/ includes this file, in sources rather than in headers where possible, because it
// makes a build slow.  No kernel is written in SYCL, so a plain C++ compiler builds this.
#pragma once

#if __has_include(<unified-runtime/ur_api.h>)
#include <unified-runtime/ur_api.h>
#else  // before 2026.0
#include <ur_api.h>
#endif

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
#include "runtime/sycl/older_headers.hpp"

namespace sycl_ext {

inline bool is_cuda_or_hip(std::optional<sycl::backend> backend) noexcept {
  return backend == sycl::backend::ext_oneapi_cuda || backend == sycl::backend::ext_oneapi_hip;
}

// Whether the device uses the v1 adapter of Level Zero, which serves GPUs before Battlemage.
inline bool is_level_zero_v1(const sycl::device& device) {
  return device.get_backend() == sycl::backend::ext_oneapi_level_zero &&
         !has_per_event_profiling(device, sycl::aspect{});
}

// Whether a call has failed because the device is lost.  The adapters of CUDA and HIP have no error
// for a lost device: after a fault of a kernel, their drivers answer every call with the same
// error, for ever, and the runtime reports most of these errors as UNKNOWN.
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

// Runs `call`. Exceptions of SYCL become Error(runtime) with their text.  `backend`: of the device
// that is asked, if it is only one.
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
