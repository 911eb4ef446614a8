// SPDX-License-Identifier: Apache-2.0
// Floor 2. A SYCL queue as the core sees it: something to wait for, to order after, to copy with.
//
// `Queue` is a shared handle.  It remembers whether anybody but us can submit to it: as long as
// nobody can, there is never pending work on it (every operation of the core waits for itself),
// and an export needs no synchronisation at all.
#pragma once

#include <cstddef>
#include <memory>

namespace sycl_ext {

struct QueueState;  // sycl_handles.hpp
struct EventState;

// One submitted command.
class Event {
 public:
  Event() = default;
  explicit Event(std::shared_ptr<EventState> state) : state_(std::move(state)) {}
  // Blocks until the command is done, or Ctrl-C; an empty event is done.
  void wait() const;

 private:
  std::shared_ptr<EventState> state_;
};

class Queue {
 public:
  Queue() = default;
  explicit Queue(std::shared_ptr<QueueState> state) : state_(std::move(state)) {}

  // A copy of the `sycl::queue` at an address that the caller vouches for; untrusted.hpp has the
  // way for other addresses.
  static Queue from_address(const void* address);

  explicit operator bool() const noexcept { return state_ != nullptr; }
  bool operator==(const Queue& other) const noexcept;  // the same sycl::queue
  bool in_order() const noexcept;
  bool same_context(const Queue& other) const;

  // Address of the `sycl::queue`; from now on a stranger can submit to it.
  const void* share() const noexcept;
  // A new `sycl::queue` on the heap for a "SyclQueueRef" capsule; shares the queue, too.
  void* new_reference() const;
  static void delete_reference(void* reference) noexcept;

  // Whether something that was submitted is not done.
  bool is_busy() const noexcept;
  // True when a call of wait() would have something to wait for (or to report).
  bool has_pending_work() const noexcept;
  // Blocks until all work submitted so far is done, or Ctrl-C; raises what went wrong
  // asynchronously.
  void wait() const;
  void wait_noexcept() const noexcept;
  // Sees to it that `what` lives until the pending work, which may touch it, is done: by a wait, or
  // where waiting was just given up, by a thread of its own.
  void outlive_work(std::shared_ptr<const void> what) const noexcept;

  // Later work on this queue sees what `producer` has been given so far.  True: an event
  // dependency does it; false: it took a wait on the host (an out-of-order queue, or one of another
  // context, cannot be protected by a barrier).
  bool order_after(const Queue& producer) const;

  // Copies and waits.  Either pointer may be host memory.
  void copy(void* to, const void* from, std::size_t nbytes) const;
  // Submits a copy without waiting for it.
  Event submit_copy(void* to, const void* from, std::size_t nbytes) const;
  void fill_zero(void* to, std::size_t nbytes) const;

  const QueueState& state() const noexcept { return *state_; }

 private:
  std::shared_ptr<QueueState> state_;
};

}  // namespace sycl_ext
