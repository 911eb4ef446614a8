// SPDX-License-Identifier: Apache-2.0
// The only header that includes <sycl/...>, and the content of Entry.  Only
// device_info.hpp of the headers, and only this folder of src/ includes it, to keep a clean build
// short.  Only calls that hide no kernel are used (a plain C++ compiler builds the module).
#pragma once

#include <unified-runtime/ur_api.h>

#include <array>
#include <cstdint>
#include <memory>
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
#include "runtime/sycl/usm_kind.hpp"

namespace sycl_ext {

struct QueueState;  // commands.hpp

// A queue with an async handler, because an error in a queue without one ends the process
// (std::terminate in the default handler).
std::shared_ptr<QueueState> make_queue(const sycl::context& context, const sycl::device& device,
                                       const sycl::property_list& properties = {
                                           sycl::property::queue::in_order{}});

// The end of all that a device has been given on an out-of-order queue; empty: all is done.
// Commands that libsycl holds back, because they depend on a host task, and host tasks are not
// seen.
std::optional<sycl::event> mark_device(const QueueState& state);
// The adapter for GPUs before Battlemage.
bool is_level_zero_v1(const sycl::device& device);

// The SYCL constant of a kind of USM (usm_kind.cpp); the kinds that a device has.
sycl::usm::alloc alloc_of(UsmKind kind) noexcept;
std::array<bool, usm_kind_count> usm_of(const sycl::device& device);

struct EntryHandles {
  sycl::device device;
  sycl::context context;
  std::uintptr_t native_context;  // 0: no driver shares it between contexts
};

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
