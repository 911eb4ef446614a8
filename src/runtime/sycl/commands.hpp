// SPDX-License-Identifier: Apache-2.0
// The commands that this package has submitted to a queue: their outcomes, in the order of their
// submission.
//
// A command is `pending` until a thread has waited for it, or has dropped its event.  Commands that
// write or mark are listed, so that a failure reaches everything that depends on the command.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fork.hpp"
#include "base/lock.hpp"
#include "runtime/sycl/handles.hpp"
#include "runtime/sycl/runtime_call.hpp"
#include "runtime/sycl/work.hpp"

namespace sycl_ext {

struct EventState;

// The error that the next wait() for a queue raises; the async handler of the queue stores its text
// here.  And the commands of this package on the queue that write or mark, oldest first, until they
// are known to be done.
struct AsyncErrors {
  std::string first;  // the first of several is the cause
  std::list<std::shared_ptr<EventState>> begun;
  int awaited_in = -1;  // the process in which a thread waits for the oldest of them; -1: none
  // How many waits for these commands have failed, and the text of the last failure.
  std::atomic<std::uint64_t> failures{0};
  std::string failure;
};

struct QueueState {
  QueueState(sycl::queue queue, bool shared, std::shared_ptr<AsyncErrors> errors)
      : queue(std::move(queue)), shared(shared), errors(std::move(errors)) {}
  ~QueueState();

  sycl::queue queue;
  const bool in_order = queue.is_in_order();
  // How the runtime answers whether work is pending.  OpenCL answers at once, but its adapter may
  // answer wrongly or crash while another thread submits, because it looks at an event which that
  // thread has released.  Level Zero answers under the lock of the queue, which v1 holds while a
  // thread waits for the queue.
  // https://github.com/oneapi-src/unified-runtime/blob/main/source/adapters/opencl/queue.cpp
  // https://github.com/oneapi-src/unified-runtime/blob/main/source/adapters/level_zero/queue.cpp
  const bool answers_at_once = queue.get_backend() == sycl::backend::opencl;
  mutable std::atomic<void*> native{nullptr};  // of OpenCL, held by `queue`; nullptr: not asked
  mutable std::atomic<bool> shared;            // a third party can submit to this queue
  std::atomic<bool> follows_others{false};     // this queue was ordered after another one
  bool recorded_at_first = false;              // a SYCL graph (Queue::for_work_from_now)
  // The mark of the last question whether all work is done; under locks.async_errors.
  mutable std::optional<sycl::event> unmet_mark;
  // Commands of this package on the queue.  `pending`: those that a thread will wait for.
  // `abandoned`: all whose event was dropped so far.  `abandoned_done`: how many of the abandoned
  // ones are known to be done.  (Two waits may learn of the same commands.)
  mutable std::atomic<std::int64_t> pending{0}, abandoned{0}, abandoned_done{0};
  const std::shared_ptr<AsyncErrors> errors;  // nullptr: the queue is a third party's

  // Queue::work(How::counters)
  Work by_counters() const noexcept {
    const bool is_idle = !shared && pending == 0 && abandoned == abandoned_done;
    return is_idle ? Work::none : Work::unknown;
  }
  // The first `count` commands whose event was dropped are known to be done.
  void note_done(std::int64_t count) const noexcept {
    std::int64_t known = abandoned_done;
    while (known < count && !abandoned_done.compare_exchange_weak(known, count)) {
    }
  }
};

// Makes a queue with an async handler.  Without one, an asynchronous error ends the process (the
// default handler calls std::terminate).
std::shared_ptr<QueueState> make_queue(const sycl::context& context, const sycl::device& device,
                                       const sycl::property_list& properties = {
                                           sycl::property::queue::in_order{}});

// Whether this is a forked child and the queue is on a GPU, whose driver may be locked for ever.
bool belongs_to_parent(const QueueState& state);

// A command of this package, which counts in `pending`; or a third-party command.
struct EventState {
  // A command without a queue is a third party's.
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

  // A thread has waited for the command.
  void finish() noexcept {
    const bool was_done = is_done.exchange(true);
    if (was_done || !queue) return;
    --queue->pending;
  }
  // No thread will wait for the command any more, and it may go on: its event was dropped, or a
  // wait for it failed.
  void abandon() noexcept {
    const bool was_done = is_done.exchange(true);
    if (was_done || !queue) return;
    ++queue->abandoned;
    --queue->pending;
  }

  sycl::event event;
  const std::shared_ptr<QueueState> queue;
  std::shared_ptr<QueueState> noted_on;  // of a third-party command, if the queue is known
  const int process = process_generation;
  // The number of waits that had failed on the queue when the command was submitted.  If another
  // wait fails, the command counts as failed, unless it only marks.
  static constexpr std::uint64_t no_failure_counts = ~std::uint64_t{0};
  const std::uint64_t failures;
  bool is_listed = false;  // was put into AsyncErrors::begun; under locks.async_errors
  // For a command that goes on in the background (Queue::begin_copy): a barrier behind the command,
  // because Level Zero v1 does not report that a plain command is done; and the bytes that the
  // command writes.
  sycl::event end = event;
  const std::byte* target = nullptr;
  std::size_t nbytes = 0;
  bool is_target_given_away = false;  // the bytes are another block's; under locks.async_errors
  bool goes_on() const noexcept { return target != nullptr; }
  std::string failure;  // what went wrong in it; under locks.async_errors
  // The call of the helper thread that waits for the command.  It may outlast an interrupted wait.
  // Only the thread that waits for the commands of the queue uses it.
  std::shared_future<void> helper;
  std::atomic<bool> is_done{false};
};

bool is_cpu(const QueueState& state);

// Submits a command of this package.
template <class Submit>
std::shared_ptr<EventState> submit(const std::shared_ptr<QueueState>& state, const Submit& submit) {
  const RuntimeCall call("submitting a command");
  require_not_forked([&] { return is_cpu(*state); });
  const std::uint64_t failures = state->errors ? state->errors->failures.load() : 0;
  // The command counts from here on.  If `submit` throws, it is abandoned, because it may have been
  // submitted.
  auto command = std::make_shared<EventState>(sycl::event(), state, failures);
  command->event = command->end = submit(state->queue);
  return command;
}

// Whether a command is over; a failed one is.  Without an event, there is no work.  `patience`: how
// long to poll before the answer is `pending`.
Work work_of(const std::optional<sycl::event>& event, std::chrono::microseconds patience = {});
// Measured: an idle queue of OpenCL answers 1.3 microseconds after the question (the median of
// `python -m benchmarks.answers`), and another thread begins to wait later than after these 20.
inline constexpr std::chrono::microseconds soon{20};
// Whether a command is over, and the barrier behind it if there is one.  It asks the runtime.
Work work_of(const EventState& state, How how);
// What the runtime says about all work on a queue, under the lock of the queue.
Work answer_under_lock(const QueueState& state);

// Adds a command of this package to the list of its queue, so that a failure reaches everything
// that depends on the command.  This must happen before any thread waits for the command.
// There is no list for a queue of a third party.
void list_command(const std::shared_ptr<EventState>& command);
// Blocks until the outcome of a command is known.
void learn_outcome(const std::shared_ptr<EventState>& command);
// The newest listed command, if at least `least` commands are listed; else nullptr.
std::shared_ptr<EventState> last_command(const QueueState& state, std::size_t least = 1);
// Learns the outcome of the listed commands, and removes those that are done.  Waits for the
// commands up to `last`, if given.
void look_at_commands(const QueueState& state, const EventState* last = nullptr);

// The error of finished copies of the queue to these bytes, if it was not reported yet.  In a
// forked child, a copy that was pending at the fork counts as failed.  `mark_reported`: the error
// is reported only this once.
std::string failure_of_copies(const QueueState& state, const std::byte* data, std::size_t nbytes,
                              bool mark_reported);

// These bytes belong to another block from now on, which the failures of earlier copies of the
// queue to them do not concern.  Some may not be known yet, because nobody has waited for the copy.
void forget_copies_to(const QueueState& state, const std::byte* data, std::size_t nbytes);

// Has the runtime deliver asynchronous errors of the queue to the handler of this package; a queue
// of a third party has its own handler.  Returns whether there is an error that was not reported.
bool collect_errors(const QueueState& state);

}  // namespace sycl_ext
