// SPDX-License-Identifier: Apache-2.0
#include "runtime/sycl/commands.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <utility>

#include "base/first_made.hpp"
#include "base/fork.hpp"
#include "base/host.hpp"
#include "base/lock.hpp"
#include "base/scope_exit.hpp"
#include "base/waiting.hpp"
#include "runtime/sycl/bug_opencl_flush.hpp"
#include "runtime/sycl/bug_v1_failed_commands.hpp"

namespace sycl_ext {

bool is_cpu(const QueueState& state) { return state.queue.get_device().is_cpu(); }

bool belongs_to_parent(const QueueState& state) { return is_forked_child() && !is_cpu(state); }

QueueState::~QueueState() {
  if (!belongs_to_parent(*this)) return;
  // Never destroyed, because the driver of the child would wait for the threads of the parent.
  new sycl::queue(std::move(queue));
  new std::optional<sycl::event>(std::move(unmet_mark));
}

Work work_of(const std::optional<sycl::event>& event, std::chrono::microseconds patience) {
  using Status = sycl::info::event_command_status;
  if (!event) return Work::none;
  const RuntimeCall call("querying the status of a command");
  const auto end = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const Status status = event->get_info<sycl::info::event::command_execution_status>();
    if (status != Status::submitted && status != Status::running) return Work::none;
    if (patience.count() == 0 || std::chrono::steady_clock::now() > end) return Work::pending;
  }
}

Work answer_under_lock(const QueueState& state) {
  if (belongs_to_parent(state)) return Work::none;
  const RuntimeCall call("querying whether a queue is empty");
  return state.queue.ext_oneapi_empty() ? Work::none : Work::pending;
}

bool collect_errors(const QueueState& state) {
  if (!state.errors) return false;
  const RuntimeCall call("collecting asynchronous errors");
  const_cast<sycl::queue&>(state.queue).throw_asynchronous();  // a handle: the queue is not const
  const std::lock_guard<Mutex> lock(locks.async_errors);
  return !state.errors->first.empty();
}

Work work_of(const EventState& state, How how) {
  const Work answer = work_of(state.end);
  if (answer != Work::none) return bug::despite_event(state, how, answer_under_lock);
  return answer;
}

namespace {

using Clock = std::chrono::steady_clock;

// Polls until the command is over.  False: signals have to be looked for first.  `begin`: of the
// wait, because a forked child gives up after a while.
bool poll_command(const EventState& state, Clock::time_point begin) {
  constexpr std::chrono::seconds longest_wait_of_child{10};
  const bool is_child = is_forked_child();
  return poll([&] {
    if (work_of(state, How::ask_under_lock) == Work::none) return true;
    bug::raise_failure(state, answer_under_lock);
    if (!is_child || Clock::now() - begin < longest_wait_of_child) return false;
    fail(Error::Kind::runtime, "work on a queue did not complete within ",
         longest_wait_of_child.count(),
         " s in a forked process; work submitted before the fork completes only in the parent, so "
         "wait for it there before forking");
  });
}

// Whether a wait may use event.wait(). The driver of the CPU copies with the thread that waits, so
// polling would leave it one thread less.  It must not be used on a queue to which third parties
// submit, or that was ordered after such a queue: that would be a deadlock.  While the command
// waits for a host task, which may want the GIL, event.wait() keeps libsycl's scheduler locked; and
// dpctl holds the GIL while it submits, which takes that lock.
bool works_with_waiter(const QueueState& state) {
  return state.answers_at_once && is_cpu(state) && !state.shared && !state.follows_others &&
         !is_forked_child();
}

// Waits in the CPU driver for a command of this package.  False: signals have to be looked for
// first.
bool wait_in_driver(EventState& state) {
  const WaitSlice slice;
  if (!slice.takes_signals()) {
    state.event.wait();
    return true;
  }
  if (!state.helper.valid()) {
    if (work_of(state.event, soon) == Work::none) return true;
    state.helper = hand_to_helper([event = state.event]() mutable {
      const RuntimeCall wait("waiting for a command", /*waits=*/true);
      event.wait();
    });
  }
  if (!state.helper.valid()) return poll_command(state, Clock::now());
  if (state.helper.wait_for(between_signals) != std::future_status::ready) return false;
  state.helper.get();
  return true;
}

// Waits for a command, and returns the text of its error, or "" if it succeeded; nullopt: signals
// have to be handled first.  For a third-party command, the wait does not go through the runtime,
// which would report here the errors that belong to the third party.
std::optional<std::string> failure_of(EventState& state, Clock::time_point begin) {
  const RuntimeCall wait("waiting for a command", /*waits=*/true);
  if (!state.queue) {
    return poll_command(state, begin) ? std::optional<std::string>("") : std::nullopt;
  }
  using Status = sycl::info::event_command_status;
  const bool is_parents = state.process != process_generation;
  try {
    if (is_parents && !(is_cpu(*state.queue) && work_of(state, How::ask) == Work::none)) {
      return "it was pending when this process was forked, and completes only in the parent; wait "
             "for it before forking, or copy again";
    }
    if (!is_parents && works_with_waiter(*state.queue)) {
      if (!wait_in_driver(state)) return std::nullopt;
    } else if (!is_parents) {
      if (work_of(state, How::ask_under_lock) != Work::none) {
        const RuntimeCall brief("flushing a queue");
        bug::flush(*state.queue);
      }
      if (!poll_command(state, begin)) return std::nullopt;
    }
    if (!is_parents) state.event.wait();  // the command is over; this raises its errors
    const RuntimeCall call("querying the status of a command");
    const Status status = state.event.get_info<sycl::info::event::command_execution_status>();
    return status == Status::complete || !state.goes_on()
               ? ""
               : "the device reports a failure without a reason";
  } catch (const sycl::exception& error) {
    return error.what();
  }
}

// Threads wait here for the outcome of a command that another thread waits for.  A forked child
// makes its own, because it has none of the threads.
FirstMade<std::condition_variable_any, true> is_known_in;
std::condition_variable_any& somebody_knows() {
  return is_known_in.get([] { return std::condition_variable_any(); });
}

using CommandList = std::list<std::shared_ptr<EventState>>;

bool has_known_outcome(const EventState& command) noexcept {
  return command.is_done || !command.failure.empty();
}

// The oldest command whose outcome is not known; nullptr: all outcomes are known.  Older commands
// that are done move to `done`. The caller holds the lock.
std::shared_ptr<EventState> oldest_unknown(AsyncErrors& errors, CommandList* done) {
  auto command = errors.begun.begin();
  while (command != errors.begun.end() && has_known_outcome(**command)) {
    const auto known = command;
    ++command;
    if ((*known)->is_done) done->splice(done->end(), errors.begun, known);
  }
  return command == errors.begun.end() ? nullptr : *command;
}

// Without the lock, and while this thread waits for no command: a signal handler may wait for the
// same commands.
void look_for_signals_without(std::unique_lock<Mutex>* lock) {
  lock->unlock();
  look_for_signals();
  lock->lock();
}

struct Outcome {
  enum class State {
    known,        // `failure` is that of the command, or empty
    pending,      // the command is not over, and no thread waited for it
    interrupted,  // signals have to be looked for first
  };
  State state;
  std::string failure = {};
};

// Waits for a command, or only looks at it, without the lock.  Meanwhile other threads leave all
// waits for the queue to this thread.
Outcome outcome_in_turn(const QueueState& state, EventState& command, bool waits,
                        Clock::time_point begin, std::unique_lock<Mutex>* lock) {
  AsyncErrors& errors = *state.errors;
  (void)somebody_knows();  // made here, if it is new, because the end of the turn must not throw
  errors.awaited_in = process_generation;
  lock->unlock();
  const ScopeExit end_of_turn([lock, &errors] {
    lock->lock();
    errors.awaited_in = -1;
    somebody_knows().notify_all();
  });
  const bool is_of_this_process = command.process == process_generation;
  if (!waits && is_of_this_process && work_of(command, How::ask_under_lock) != Work::none) {
    return {Outcome::State::pending};
  }
  std::optional<std::string> failure = failure_of(command, begin);
  if (!failure) return {Outcome::State::interrupted};
  (void)collect_errors(state);  // errors of a command that the runtime could not submit
  return {Outcome::State::known, *std::move(failure)};
}

// The caller holds the lock.
void note_outcome(AsyncErrors& errors, EventState& command, std::string failure) {
  if (!failure.empty()) {
    ++errors.failures;
    errors.failure = failure;
  }
  if (command.failures < errors.failures) failure = errors.failure;
  command.failure = failure;
  if (failure.empty()) {
    command.finish();
  } else if (!command.goes_on() || command.is_target_given_away) {  // else its readers need it
    command.abandon();
  }
}

}  // namespace

// Waits for the commands of a queue, oldest first, one thread at a time.  The order matters,
// because a driver may skip the commands behind a failed one, and reports the failure once, to the
// first thread that waits for one of them.  So when a wait fails, all later commands that were
// submitted before the failure and are not known to be done count as failed: no other wait will
// report them.
void look_at_commands(const QueueState& state, const EventState* last) {
  if (!state.errors) return;
  AsyncErrors& errors = *state.errors;
  const Clock::time_point begin = Clock::now();
  CommandList done;  // dropped without the lock
  std::unique_lock<Mutex> lock(locks.async_errors);
  for (;;) {
    std::shared_ptr<EventState> next = oldest_unknown(errors, &done);
    if (!next || (last && has_known_outcome(*last))) return;
    if (errors.awaited_in == process_generation) {  // another thread waits
      if (!last) return;
      next.reset();  // its event must not be destroyed under the lock
      somebody_knows().wait_for(lock, between_signals);
      look_for_signals_without(&lock);
      continue;
    }
    Outcome outcome = outcome_in_turn(state, *next, /*waits=*/last, begin, &lock);
    if (outcome.state == Outcome::State::pending) return;
    if (outcome.state == Outcome::State::interrupted) {
      look_for_signals_without(&lock);
      continue;
    }
    note_outcome(errors, *next, std::move(outcome.failure));
  }
}

std::shared_ptr<QueueState> make_queue(const sycl::context& context, const sycl::device& device,
                                       const sycl::property_list& properties) {
  auto errors = std::make_shared<AsyncErrors>();
  auto handler = [errors](sycl::exception_list list) {
    for (const std::exception_ptr& pointer : list) {
      std::string text = "unknown error";
      try {
        std::rethrow_exception(pointer);
      } catch (const std::exception& error) {
        text = error.what();
      } catch (...) {
      }
      const std::lock_guard<Mutex> lock(locks.async_errors);
      if (errors->first.empty()) errors->first = text;
      ++errors->failures;
      errors->failure = text;
    }
  };
  return sycl_call("creating a queue", [&] {
    sycl::queue queue(context, device, handler, properties);
    return std::make_shared<QueueState>(std::move(queue), /*shared=*/false, std::move(errors));
  });
}

std::shared_ptr<EventState> last_command(const QueueState& state, std::size_t least) {
  if (!state.errors) return nullptr;
  const std::lock_guard<Mutex> lock(locks.async_errors);
  return state.errors->begun.size() < least ? nullptr : state.errors->begun.back();
}

void list_command(const std::shared_ptr<EventState>& command) {
  AsyncErrors* const errors = command->queue->errors.get();
  if (!errors) return;
  const std::lock_guard<Mutex> lock(locks.async_errors);
  if (command->is_listed) return;
  errors->begun.push_back(command);
  command->is_listed = true;
}

void learn_outcome(const std::shared_ptr<EventState>& command) {
  if (command->queue && command->queue->errors) {
    list_command(command);
    look_at_commands(*command->queue, command.get());
    return;
  }
  const Clock::time_point begin = Clock::now();
  std::optional<std::string> outcome = failure_of(*command, begin);
  while (!outcome) {
    look_for_signals();
    outcome = failure_of(*command, begin);
  }
  const std::string failure = *std::move(outcome);
  const std::lock_guard<Mutex> lock(locks.async_errors);
  command->failure = failure;
  if (failure.empty()) {
    command->finish();
  } else {
    command->abandon();
  }
}

namespace {

bool writes_to(const EventState& copy, const std::byte* data, std::size_t nbytes) noexcept {
  return copy.target < data + nbytes && data < copy.target + copy.nbytes;
}

}  // namespace

std::string failure_of_copies(const QueueState& state, const std::byte* data, std::size_t nbytes,
                              bool mark_reported) {
  std::string failure;
  if (!state.errors) return failure;
  if (is_forked_child()) {
    const WithoutGil released;
    sycl_call("checking the status of copies", [&state] { look_at_commands(state); });
  }
  const std::lock_guard<Mutex> lock(locks.async_errors);
  for (const auto& copy : state.errors->begun) {
    if (copy->is_target_given_away || !writes_to(*copy, data, nbytes)) continue;
    const bool counts_as_failed = copy->failures < state.errors->failures;
    if (copy->failure.empty() && counts_as_failed) copy->failure = state.errors->failure;
    if (copy->is_done || copy->failure.empty()) continue;
    failure = copy->failure;
    if (mark_reported) copy->abandon();
  }
  return failure;
}

void forget_copies_to(const QueueState& state, const std::byte* data, std::size_t nbytes) {
  if (!state.errors) return;
  const std::lock_guard<Mutex> lock(locks.async_errors);
  for (const auto& copy : state.errors->begun) {
    if (!writes_to(*copy, data, nbytes)) continue;
    copy->is_target_given_away = true;
    if (!copy->failure.empty()) copy->abandon();  // it has no other reader
  }
}

}  // namespace sycl_ext
