// SPDX-License-Identifier: Apache-2.0
// A SYCL queue as the core sees it: it can be waited for, ordered after other work, and copied
// with.
//
// `Queue` is a shared handle.  It records whether third parties can submit to the queue.  On a
// queue to which only this package submits, work is pending only while one of this package's
// commands is.
//
// A call that takes the lock of the queue, or can wait, is a RuntimeCall (runtime_call.hpp), and
// its caller must not hold the GIL. A wait is for events, not for the queue: the v1 Level Zero
// adapter keeps a queue locked while the queue itself is waited for.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/owner.hpp"
#include "runtime/sycl/event.hpp"
#include "runtime/sycl/kernel.hpp"
#include "runtime/sycl/work.hpp"

namespace sycl_ext {

struct QueueState;  // commands.hpp

class Queue {
 public:
  Queue() = default;
  explicit Queue(std::shared_ptr<QueueState> state) : state_(std::move(state)) {}

  // A copy of the `sycl::queue` at an address that the caller vouches for.  queue_at_untrusted()
  // takes other addresses (untrusted.hpp).
  static Queue from_address(const void* address);

  explicit operator bool() const noexcept { return state_ != nullptr; }
  bool operator==(const Queue& other) const noexcept;  // the same sycl::queue
  std::size_t hash() const noexcept;                   // of the sycl::queue
  bool is_at(const void* address) const noexcept;      // of a `sycl::queue`
  bool in_order() const noexcept;
  bool is_ours() const noexcept;  // made by this package
  // The same queue, for a consumer that gets memory now.  As long as the queue goes on recording a
  // SYCL graph, it has no work on that memory, because its commands are nodes of the graph.
  Queue for_work_from_now() const;
  // Whether the queue was recording when the consumer named it.
  bool recorded_at_first() const noexcept;
  // Whether commands of this queue can depend on an event of the other queue.  False: ordering the
  // two takes a wait on the host.
  bool can_follow(const Queue& other) const;

  // Address of the `sycl::queue`. From now on third parties can submit to it.
  const void* share() const noexcept;
  // A new `sycl::queue` on the heap for a "SyclQueueRef" capsule.  From now on third parties
  // can submit to it.
  Owner new_reference() const;

  // Whether all submitted work is over.  `unknown` also if a command has failed, because only a
  // wait reports the error.  It throws only what Host::find_noted_events throws.
  Work work(How how) const;
  // Blocks until all work submitted so far is done, or Ctrl-C. Raises asynchronous errors of that
  // work.
  void wait() const;
  // Waits for these commands of the queue, which are all that the caller has submitted.
  void finish(const std::vector<Event>& events) const;
  // The event of all work that the device was given so far; empty when no work is pending.  The
  // event is handed to the device, so it ends even if no thread waits for it.
  Event marker() const;
  // The events of all work that any code has submitted so far.
  std::vector<Event> pending() const;

  // Orders later work on this queue after the work that `producer` was given so far, by an event.
  // Where that is not possible, it waits on the host: on an out-of-order queue, or a queue of
  // another context, a barrier does not protect later work.
  void order_after(const Queue& producer) const;
  // Orders later work on this queue after one command of a queue.  It does nothing if that would
  // take a wait on the host.
  void order_after(const Event& event) const;

  // Copies at least one byte, and waits.  Either pointer may be host memory.
  void copy(void* to, const void* from, std::size_t nbytes) const;
  // Submits a copy without waiting for it.
  Event submit_copy(void* to, const void* from, std::size_t nbytes) const;
  Event submit_copy(const Launch& launch) const;
  // Submits a copy on this in-order queue that goes on in the background: it is handed to the
  // device.  While `most_copies` such copies are pending, it blocks, or until Ctrl-C, because each
  // of them keeps memory.
  static constexpr std::size_t most_copies = 256;
  Event begin_copy(void* to, const void* from, std::size_t nbytes) const;
  Event begin_copy(const Launch& launch) const;
  // The error of such finished copies to these bytes, if it was not reported yet.  In a forked
  // child, a copy that was pending at the fork counts as failed.  `mark_reported`: the
  // error is reported only this once.
  std::string failure_of_copies(const std::byte* data, std::size_t nbytes,
                                bool mark_reported) const;
  // These bytes belong to another block from now on, which such errors do not concern.
  void forget_copies_to(const std::byte* data, std::size_t nbytes) const;
  void fill_zero(void* to, std::size_t nbytes) const;
  // Hands a hint about shared USM to the driver, and returns: that the device will use these bytes,
  // or an advice, whose number each adapter reads in its own way.
  void prefetch(const void* data, std::size_t nbytes) const;
  void advise(const void* data, std::size_t nbytes, int advice) const;

  const QueueState& state() const noexcept { return *state_; }

 private:
  void tell_errors() const;
  template <class Submit>
  Event begin(const void* to, std::size_t nbytes, const Submit& submit) const;
  std::vector<Event> noted_events() const;

  std::shared_ptr<QueueState> state_;
};

}  // namespace sycl_ext
