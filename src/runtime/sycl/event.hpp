// SPDX-License-Identifier: Apache-2.0
// A submitted command as the core sees it: it can be asked whether it is over, and waited for.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/owner.hpp"
#include "runtime/sycl/work.hpp"

namespace sycl_ext {

struct EventState;  // commands.hpp

// One submitted command.
class Event {
 public:
  Event() = default;
  explicit Event(std::shared_ptr<EventState> state) : state_(std::move(state)) {}
  // A copy of the `sycl::event` at an address: a third-party command.
  static Event from_address(const void* address);
  explicit operator bool() const noexcept { return state_ != nullptr; }
  // Whether the command is over.  One of the parent of this forked child counts as over.
  Work work(How how) const noexcept;
  // A new `sycl::event` on the heap for a "SyclEventRef" capsule; it is over if this one is empty.
  Owner new_reference() const;

  // nullptr: the command is done.
  const std::shared_ptr<EventState>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<EventState> state_;
};

// Blocks until the commands are done, or Ctrl-C. Raises the failure of a command, each time it is
// called.
void wait_for_all(const std::vector<Event>& events);

}  // namespace sycl_ext
