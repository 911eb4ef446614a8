// SPDX-License-Identifier: Apache-2.0
// The commands that this package has submitted to a queue: their outcomes, in the order of their
// submission.
//
// A command is `pending` until somebody has waited for it, or has dropped its event.  Those that
// write or mark are listed, so that each failure is told to those whom it concerns.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <future>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/fork.hpp"
#include "base/lock.hpp"
#include "runtime/sycl/handles.hpp"
#include "runtime/sycl/runtime_call.hpp"

namespace sycl_ext {

struct EventState;

// The error that the next wait() for a queue raises, where the async handler of the queue leaves
// its text; and our commands on the queue that write or mark, oldest first, until they are known to
// be done.
struct AsyncErrors {
  std::string first;  // the first of several is the cause
  std::list<std::shared_ptr<EventState>> begun;
  int awaited_in = -1;  // the process in which a thread waits for the oldest of them; -1: none
  // How many waits for them have failed, and how the last one did.
  std::atomic<std::uint64_t> failures{0};
  std::string failure;
};

struct QueueState {
  QueueState(sycl::queue queue, bool shared, std::shared_ptr<AsyncErrors> errors)
      : queue(std::move(queue)), shared(shared), errors(std::move(errors)) {}

  sycl::queue queue;
  const bool in_order = queue.is_in_order();
  // How the runtime answers whether work is pending.  OpenCL: at once, and wrongly or with a crash
  // when another thread submits meanwhile, because the adapter looks at an event which that thread
  // has released.  Level Zero: under the queue's lock, which v1 holds while somebody waits for the
  // queue. https://github.com/oneapi-src/unified-runtime/blob/main/source/adapters/opencl/queue.cpp
  // https://github.com/oneapi-src/unified-runtime/blob/main/source/adapters/level_zero/queue.cpp
  const bool answers_at_once = queue.get_backend() == sycl::backend::opencl;
  mutable std::atomic<void*> native{nullptr};  // of OpenCL, which `queue` holds; nullptr: not asked
  mutable std::atomic<bool> shared;            // a third party can submit to it
  std::atomic<bool> follows_others{false};     // it was ordered after another queue
  bool recorded_at_first = false;              // a SYCL graph (Queue::for_work_from_now)
  // Of the last question whether all is done; under locks.async_errors.
  mutable std::optional<sycl::event> unmet_mark;
  // Our own commands: those that somebody will wait for; all whose event was ever dropped, and how
  // many of these are known to be done.  (Two waits may learn of the same ones.)
  mutable std::atomic<std::int64_t> pending{0}, abandoned{0}, abandoned_done{0};
  const std::shared_ptr<AsyncErrors> errors;  // nullptr: the queue is a third party's

  bool may_have_work() const noexcept {
    return shared || pending != 0 || abandoned != abandoned_done;
  }
  // The first `count` commands whose event was dropped are known to be done.
  void note_done(std::int64_t count) const noexcept {
    std::int64_t known = abandoned_done;
    while (known < count && !abandoned_done.compare_exchange_weak(known, count)) {
    }
  }
};

// A queue with an async handler, because an error in a queue without one ends the process
// (std::terminate in the default handler).
std::shared_ptr<QueueState> make_queue(const sycl::context& context, const sycl::device& device,
                                       const sycl::property_list& properties = {
                                           sycl::property::queue::in_order{}});

// Whether this is a forked child, and the driver of the queue, a GPU's, may be locked for ever.
bool belongs_to_parent(const QueueState& state);

// A command of ours, which counts in `pending`; or one of somebody else.
struct EventState {
  // No queue: the command is not ours.
  EventState(sycl::event event, std::shared_ptr<QueueState> queue,
             std::uint64_t failures = no_failure_counts) noexcept
      : event(std::move(event)), queue(std::move(queue)), failures(failures) {
    if (this->queue) ++this->queue->pending;
  }
  ~EventState() {
    abandon();
    if (!queue || !belongs_to_parent(*queue)) return;
    new sycl::event(std::move(event));  // never destroyed
    new sycl::event(std::move(end));
  }

  // Somebody has waited for it.
  void finish() noexcept {
    const bool was_done = is_done.exchange(true);
    if (was_done || !queue) return;
    --queue->pending;
  }
  // Nobody will wait for it any more, and it may go on: its event is dropped, or the wait failed.
  void abandon() noexcept {
    const bool was_done = is_done.exchange(true);
    if (was_done || !queue) return;
    ++queue->abandoned;
    --queue->pending;
  }

  sycl::event event;
  const std::shared_ptr<QueueState> queue;
  std::shared_ptr<QueueState> noted_on;  // of a command of somebody else, if it is known
  const int process = process_generation;
  // How many waits had failed on the queue before it was submitted.  After one more it counts as
  // failed, unless it only marks.
  static constexpr std::uint64_t no_failure_counts = ~std::uint64_t{0};
  const std::uint64_t failures;
  bool is_listed = false;  // was put into AsyncErrors::begun; under locks.async_errors
  // Of a command that goes on by itself (Queue::begin_copy): a barrier behind it, since Level Zero
  // v1 does not say of a plain command that it is done; and the bytes that it writes.
  sycl::event end = event;
  const std::byte* target = nullptr;
  std::size_t nbytes = 0;
  bool goes_on() const noexcept { return target != nullptr; }
  std::string failure;  // what went wrong in it; under locks.async_errors
  // The call of the helper thread that waits for it, which may outlast an interrupted wait; for the
  // thread that waits for the commands of the queue.
  std::shared_future<void> helper;
  std::atomic<bool> is_done{false};
};

bool is_cpu(const QueueState& state);

// Submits a command of ours.
template <class Submit>
std::shared_ptr<EventState> submit(const std::shared_ptr<QueueState>& state, const Submit& submit) {
  const RuntimeCall call("submitting a command");
  require_not_forked([&] { return is_cpu(*state); });
  const std::uint64_t failures = state->errors ? state->errors->failures.load() : 0;
  // It counts from here on, and is abandoned if this fails: it may have been submitted.
  auto command = std::make_shared<EventState>(sycl::event(), state, failures);
  command->event = command->end = submit(state->queue);
  return command;
}

// A command that has failed has a status of its own.
bool is_over(const sycl::event& event);
// The same for a command and what goes on behind it.
bool is_over(const EventState& state);
// Whether it ends in less time than it takes to have another thread wait for it.
bool is_over_soon(const std::optional<sycl::event>& event);
// Whether all that was submitted is done, as the runtime says.
bool is_empty(const QueueState& state);

// Puts a command of ours into the list of its queue, so that its failure is told to everybody whom
// it concerns.  It has to be there before anybody waits for it.  A third party's queue has no list.
void list_command(const std::shared_ptr<EventState>& command);
// Blocks until the outcome of a command is known.
void learn_outcome(const std::shared_ptr<EventState>& command);
// The newest of the commands that are listed, if there are at least so many; else nullptr.
std::shared_ptr<EventState> last_command(const QueueState& state, std::size_t least = 1);
// Learns the outcome of the commands that are listed, and forgets those that are done.  Waits for
// those up to `last`, if there is one.
void look_at_commands(const QueueState& state, const EventState* last = nullptr);

// The error of finished copies of the queue to these bytes, if it was not reported yet.  In a
// child, a copy that was pending at the fork has failed.  `told`: from now on somebody has been.
std::string failure_of_copies(const QueueState& state, const std::byte* data, std::size_t nbytes,
                              bool told);

// Has the asynchronous errors of the queue delivered to our handler; a third party's queue keeps
// its own.  Whether there are any that nobody has been told of.
bool collect_errors(const QueueState& state);

}  // namespace sycl_ext
