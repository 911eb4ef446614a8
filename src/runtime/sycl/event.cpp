// SPDX-License-Identifier: Apache-2.0
#include "runtime/sycl/event.hpp"

#include <algorithm>
#include <string>

#include "base/fork.hpp"
#include "base/interpreter.hpp"
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
  const auto is_done = [](const Event& event) { return !event.state() || event.state()->is_done; };
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

std::optional<bool> Event::answer() const noexcept {
  try {
    if (!state_ || state_->is_done || state_->process != process_generation) return true;
    if (!is_over(*state_)) return false;
    const std::lock_guard<Mutex> lock(locks.async_errors);
    if (!state_->is_listed) state_->finish();
    return true;
  } catch (const sycl::exception& error) {
    if (is_device_lost(error, backend_of(*state_))) return true;
  } catch (...) {  // no memory for the question
  }
  return std::nullopt;
}

Owner Event::new_reference() const { return new_reference_of(state_->event); }

}  // namespace sycl_ext
