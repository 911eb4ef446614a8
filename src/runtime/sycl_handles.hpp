// SPDX-License-Identifier: Apache-2.0
// The only header that includes <sycl/...>, and the content of Queue and Entry.  Only
// device_info.hpp of the headers, and only this folder of src/ includes it, to keep a clean build
// short.  Only calls that hide no kernel are used (a plain C++ compiler builds the module).
#pragma once

#include <unified-runtime/ur_api.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
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
#include "base/fork.hpp"
#include "base/lock.hpp"
#include "runtime/usm_kind.hpp"

namespace sycl_ext {

struct EventState;

// The error that the next wait() for a queue raises, where the async handler of the queue leaves
// its text; and our commands on the queue that write or mark, oldest first, until they are known to
// be done.
struct AsyncErrors {
  static inline Mutex& mutex = *new Mutex(Rank::async_errors);
  std::string first;  // the first of several is the cause
  std::atomic<bool> any{false};
  std::list<std::shared_ptr<EventState>> begun;
  int awaited_in = -1;  // the process in which a thread waits for the oldest of them; -1: none
  // How many waits for them have failed, and how the last one did.
  std::atomic<std::uint64_t> failures{0};
  std::string failure;
};

struct QueueState {
  sycl::queue queue;
  bool in_order = false;
  // How the runtime answers whether work is pending.  OpenCL: at once, and wrongly or with a crash
  // when another thread submits meanwhile, because the adapter looks at an event which that thread
  // has released.  Level Zero: under the queue's lock, which v1 holds while somebody waits for the
  // queue. https://github.com/oneapi-src/unified-runtime/blob/main/source/adapters/opencl/queue.cpp
  // https://github.com/oneapi-src/unified-runtime/blob/main/source/adapters/level_zero/queue.cpp
  bool answers_at_once = false;
  mutable std::atomic<bool> shared{false};  // a third party can submit to it
  std::atomic<bool> follows_others{false};  // it was ordered after another queue
  // Our own commands: those that somebody will wait for; all whose event was ever dropped, and how
  // many of these are known to be done.  (Two waits may learn of the same ones.)
  mutable std::atomic<std::int64_t> pending{0}, abandoned{0}, settled{0};
  std::shared_ptr<AsyncErrors> errors = nullptr;  // nullptr: the queue is a third party's

  bool may_have_work() const noexcept { return shared || pending != 0 || abandoned != settled; }
  // The first `count` commands whose event was dropped are done.
  void settle(std::int64_t count) const noexcept {
    std::int64_t known = settled;
    while (known < count && !settled.compare_exchange_weak(known, count)) {
    }
  }
};

// A command of ours, counted in `pending` when it was submitted; or one of somebody else.
struct EventState {
  // No queue: the command is not ours.
  EventState(sycl::event event, std::shared_ptr<QueueState> queue,
             std::uint64_t failures = no_failure_counts) noexcept
      : event(std::move(event)), queue(std::move(queue)), failures(failures) {}
  ~EventState() { abandon(); }
  EventState(const EventState&) = delete;
  EventState& operator=(const EventState&) = delete;

  // Somebody has waited for it.
  void finish() noexcept {
    if (!is_done.exchange(true) && queue) --queue->pending;
  }
  // Nobody will wait for it any more, and it may go on: its event is dropped, or the wait failed.
  void abandon() noexcept {
    if (is_done.exchange(true) || !queue) return;
    ++queue->abandoned;
    --queue->pending;
  }

  const sycl::event event;
  const std::shared_ptr<QueueState> queue;
  const int process = process_generation();
  // How many waits had failed on the queue before it was submitted.  After one more it counts as
  // failed, unless it only marks.
  static constexpr std::uint64_t no_failure_counts = ~std::uint64_t{0};
  const std::uint64_t failures;
  bool is_listed = false;  // was put into AsyncErrors::begun; under its mutex
  // Of a command that goes on by itself (Queue::begin_copy): a barrier behind it, since Level Zero
  // v1 does not say of a plain command that it is done; and the bytes that it writes.
  sycl::event end = event;
  bool goes_on = false;
  const std::byte* target = nullptr;
  std::size_t nbytes = 0;
  std::string failure;  // what went wrong in it; under AsyncErrors::mutex
  std::atomic<bool> is_done{false};
};

// A queue with an async handler, because an error in a queue without one ends the process
// (std::terminate in the default handler).
std::shared_ptr<QueueState> make_queue(const sycl::context& context, const sycl::device& device,
                                       const sycl::property_list& properties = {
                                           sycl::property::queue::in_order{}});

// The end of all that a device has been given on an out-of-order queue; empty: all is done.
// Commands that libsycl holds back, because they depend on a host task, and host tasks are not
// seen.
std::optional<sycl::event> mark_device(sycl::queue queue);

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
