// SPDX-License-Identifier: Apache-2.0
#include "runtime/sycl/event.hpp"

#include <algorithm>
#include <string>

#include "base/fork.hpp"
#include "base/host.hpp"
#include "base/waiting.hpp"
#include "runtime/sycl/commands.hpp"

namespace sycl_ext {

namespace {

std::optional<sycl::backend> backend_of(const EventState& state) noexcept {
  try {
    return state.event.get_backend();
  } catch (const sycl::exception&) {
    return std::nullopt;
  }
}

}  // namespace

void wait_for_all(const std::vector<Event>& events) {
  const auto is_done = [](const Event& event) { return event.work(How::counters) == Work::none; };
  if (!std::all_of(events.begin(), events.end(), is_done)) {
    const WithoutGil released;
    sycl_call("waiting for commands", [&] {
      for (const Event& event : events) {
        if (!is_done(event)) learn_outcome(event.state());
      }
    });
  }
  for (const Event& event : events) {
    if (!event.state()) continue;
    std::string failure;
    {
      const std::lock_guard<Mutex> lock(locks.async_errors);
      failure = event.state()->failure;
    }
    if (failure.empty()) continue;
    event.state()->abandon();
    fail(Error::Kind::runtime, "a command has failed: ", failure);
  }
}

Event Event::from_address(const void* address) {
  return Event(std::make_shared<EventState>(*static_cast<const sycl::event*>(address), nullptr));
}

Work Event::work(How how) const noexcept {
  if (!state_) return Work::none;
  try {
    if (state_->is_done) return Work::none;
    if (how == How::counters) return Work::unknown;
    if (state_->process != process_generation) return Work::none;
    const Work answer = work_of(*state_, how);
    if (answer != Work::none) return answer;
    const std::lock_guard<Mutex> lock(locks.async_errors);
    if (!state_->is_listed) state_->finish();
    return Work::none;
  } catch (const sycl::exception& error) {
    if (is_device_lost(error, backend_of(*state_))) return Work::none;
  } catch (...) {  // no memory for the question
  }
  return Work::unknown;
}

Owner Event::new_reference() const {
  return new_reference_of(state_ ? state_->event : sycl::event());
}

}  // namespace sycl_ext
