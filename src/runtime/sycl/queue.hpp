// SPDX-License-Identifier: Apache-2.0
// A SYCL queue as the core sees it: something to wait for, to order after, to copy with.
//
// `Queue` is a shared handle.  It remembers whether anybody but us can submit to it.  On a queue to
// which only we submit, work is pending only for as long as one of our own commands is.
//
// A call that takes the queue's lock or can wait is a RuntimeCall (runtime_call.hpp): the caller
// does not hold the GIL.  Waits are for events: the v1 Level Zero adapter keeps a queue locked
// while the queue itself is waited for.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/owner.hpp"
#include "runtime/sycl/event.hpp"

namespace sycl_ext {

struct QueueState;  // commands.hpp

class Queue {
 public:
  Queue() = default;
  explicit Queue(std::shared_ptr<QueueState> state) : state_(std::move(state)) {}

  // A copy of the `sycl::queue` at an address that the caller vouches for; untrusted.hpp has the
  // way for other addresses.
  static Queue from_address(const void* address);

  explicit operator bool() const noexcept { return state_ != nullptr; }
  bool operator==(const Queue& other) const noexcept;  // the same sycl::queue
  bool is_at(const void* address) const noexcept;      // of a `sycl::queue`
  bool in_order() const noexcept;
  // The same queue for a consumer who gets memory now.  While it goes on recording a SYCL graph, it
  // has no work on that memory: its commands are nodes of the graph.
  Queue for_work_from_now() const;
  // Whether it was recording then.
  bool recorded_at_first() const noexcept;
  // Whether its commands can wait for an event of the other queue.  False: it takes a wait on the
  // host.
  bool can_follow(const Queue& other) const;

  // Address of the `sycl::queue`; from now on others can submit to it.
  const void* share() const noexcept;
  // A new `sycl::queue` on the heap for a "SyclQueueRef" capsule; it shares the queue as well.
  Owner new_reference() const;

  // False: nothing can be pending.  Does not ask the runtime, and may be called with the GIL.
  bool may_have_work() const noexcept;
  // True: nothing that was submitted is pending, nor to be reported.  False: something may be.
  bool is_idle() const;
  // The same for all commands that were given to the device.  It is asked before memory is freed: a
  // command that libsycl still holds back keeps its own memory.
  bool is_device_idle() const noexcept;
  // Blocks until all work submitted so far is done, or Ctrl-C; raises what went wrong
  // asynchronously.
  void wait() const;
  // The same for commands of this queue, all that the caller has submitted.
  void finish(const std::vector<Event>& events) const;
  // The event of all work that the device has been given so far; empty when nothing is pending.  It
  // has been handed to the device, so that it ends without anybody waiting for it.
  Event marker() const;
  // The events of all work submitted so far, by whomever.
  std::vector<Event> pending() const;

  // Later work on this queue sees what `producer` has been given so far, by an event dependency, or
  // else by a wait on the host (an out-of-order queue, or one of another context, cannot be
  // protected by a barrier).
  void order_after(const Queue& producer) const;
  // The same for one command of a queue.  Nothing is done where it takes a wait on the host.
  void order_after(const Event& event) const;

  // Copies at least one byte, and waits.  Either pointer may be host memory.
  void copy(void* to, const void* from, std::size_t nbytes) const;
  // Submits a copy without waiting for it.
  Event submit_copy(void* to, const void* from, std::size_t nbytes) const;
  // The same for a copy of this in-order queue that goes on by itself: it has been handed to the
  // device.  Blocks, or until Ctrl-C, while `most_copies` of them are pending: each keeps its
  // memory.
  static constexpr std::size_t most_copies = 256;
  Event begin_copy(void* to, const void* from, std::size_t nbytes) const;
  // The error of such finished copies to these bytes, if it was not reported yet.  In a child, a
  // copy that was pending at the fork has failed.  `told`: from now on somebody has.
  std::string failure_of_copies(const std::byte* data, std::size_t nbytes, bool told) const;
  void fill_zero(void* to, std::size_t nbytes) const;

  const QueueState& state() const noexcept { return *state_; }

 private:
  void tell_errors() const;
  std::vector<Event> noted_events() const;

  std::shared_ptr<QueueState> state_;
};

// Appends the events that the users of an out-of-order queue have noted for their commands, which
// only Python knows.  nullptr: nobody notes any.  It is called without a lock, with or without the
// GIL, and may throw.
using FindNotedEvents = void (*)(const Queue& queue, std::vector<Event>* events);
inline std::atomic<FindNotedEvents> find_noted_events{nullptr};

}  // namespace sycl_ext
