// SPDX-License-Identifier: Apache-2.0
#include "runtime/sycl/commands.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <utility>

#include "base/first_made.hpp"
#include "base/fork.hpp"
#include "base/interpreter.hpp"
#include "base/lock.hpp"
#include "base/scope_exit.hpp"
#include "base/waiting.hpp"

namespace sycl_ext {

bool is_cpu(const QueueState& state) { return state.queue.get_device().is_cpu(); }

bool belongs_to_parent(const QueueState& state) { return is_forked_child() && !is_cpu(state); }

bool is_over(const sycl::event& event) {
  using Status = sycl::info::event_command_status;
  const RuntimeCall call("asking for the status of a command");
  const Status status = event.get_info<sycl::info::event::command_execution_status>();
  return status != Status::submitted && status != Status::running;
}

bool is_empty(const QueueState& state) {
  if (belongs_to_parent(state)) return true;
  const RuntimeCall call("asking whether a queue is empty");
  return state.queue.ext_oneapi_empty();
}

bool collect_errors(const QueueState& state) {
  if (!state.errors) return false;
  const RuntimeCall call("collecting asynchronous errors");
  const_cast<sycl::queue&>(state.queue).throw_asynchronous();  // a handle: the queue is not const
  const std::lock_guard<Mutex> lock(locks.async_errors);
  return !state.errors->first.empty();
}

bool is_over_soon(const std::optional<sycl::event>& event) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
  while (event && !is_over(*event)) {
    if (std::chrono::steady_clock::now() > end) return false;
  }
  return true;
}

// Level Zero v1 reports a command that has failed as submitted, for ever.  So a queue in order is
// asked as well: its answer is that of its last command.
// https://github.com/oneapi-src/unified-runtime/blob/main/source/adapters/level_zero/event.cpp
bool is_over(const EventState& state) {
  if (is_over(state.end)) return true;
  if (!state.queue || !state.queue->in_order || state.queue->answers_at_once) return false;
  try {
    return is_empty(*state.queue);
  } catch (const sycl::exception& error) {
    if (!is_device_lost(error, state.queue->queue.get_backend())) throw;
    return true;
  }
}

namespace {

using Clock = std::chrono::steady_clock;

// An out-of-order queue raises the failure of its commands as well, and a wait for one of them
// ends. Its answer says too little: that of a command which libsycl holds back is yes.
void raise_failure_of_queue(const EventState& state) {
  const auto& queue = state.queue ? state.queue : state.noted_on;
  if (queue && !queue->in_order && !queue->answers_at_once) (void)is_empty(*queue);
}

// Asks until the command is over; false: signals have to be looked for first.  `begin`: of the
// wait, which a child ends after a while.
bool poll_command(const EventState& state, Clock::time_point begin) {
  constexpr std::chrono::seconds longest_wait_of_child{10};
  const bool is_child = is_forked_child();
  return poll([&] {
    if (is_over(state)) return true;
    raise_failure_of_queue(state);
    if (!is_child || Clock::now() - begin < longest_wait_of_child) return false;
    fail(Error::Kind::runtime, "work on a queue has not ended in ", longest_wait_of_child.count(),
         " s in a forked process; work that the parent submitted before the fork ends only in "
         "the parent: wait for it there before the fork");
  });
}

// Whether the driver of the queue copies with the thread that waits, as the CPU's does: polling
// would leave it a thread less.  Not on a queue where others submit, or that was ordered after one:
// event.wait() keeps libsycl's scheduler locked while the command waits for a host task, which may
// want the GIL; and dpctl holds the GIL while it submits, which takes that lock.
bool works_with_waiter(const QueueState& state) {
  return state.answers_at_once && is_cpu(state) && !state.shared && !state.follows_others &&
         !is_forked_child();
}

// Waits for a command of ours in the CPU driver; false: signals have to be looked for first.
bool wait_in_driver(EventState& state) {
  const WaitSlice slice;
  if (!slice.takes_signals()) {
    state.event.wait();
    return true;
  }
  if (!state.helper.valid()) {
    if (is_over_soon(state.event)) return true;
    state.helper = hand_to_helper([event = state.event]() mutable {
      const RuntimeCall wait("waiting for a command", true);
      event.wait();
    });
  }
  if (!state.helper.valid()) return poll_command(state, Clock::now());
  if (state.helper.wait_for(between_signals) != std::future_status::ready) return false;
  state.helper.get();
  return true;
}

// Waits for a command; the text of its error, or "".  Nothing: signals have to be looked for first.
// A command of other code is not waited for in the runtime: its errors belong to that code.
std::optional<std::string> failure_of(EventState& state, Clock::time_point begin) {
  const RuntimeCall wait("waiting for a command", true);
  if (!state.queue) {
    return poll_command(state, begin) ? std::optional<std::string>("") : std::nullopt;
  }
  using Status = sycl::info::event_command_status;
  const bool is_parents = state.process != process_generation;
  try {
    if (is_parents && !(is_cpu(*state.queue) && is_over(state))) {
      return "it was under way when this process was forked, and goes on in the parent only; wait "
             "for it before the fork, or copy again";
    }
    if (!is_parents && works_with_waiter(*state.queue)) {
      if (!wait_in_driver(state)) return std::nullopt;
    } else if (!is_parents) {
      if (!is_over(state)) {
        const RuntimeCall brief("flushing a queue");
        state.queue->queue.ext_oneapi_prod();
      }
      if (!poll_command(state, begin)) return std::nullopt;
    }
    if (!is_parents) state.event.wait();  // it is over, and this tells its errors
    const RuntimeCall call("asking for the status of a command");
    const Status status = state.event.get_info<sycl::info::event::command_execution_status>();
    return status == Status::complete || !state.goes_on()
               ? ""
               : "the device says that it has failed, and not why";
  } catch (const sycl::exception& error) {
    return error.what();
  }
}

// Threads wait until the outcome of a command is known.  A child has none of the threads.
FirstMade<std::condition_variable_any, true> is_known_in;
std::condition_variable_any& somebody_knows() {
  return is_known_in.get([] { return std::condition_variable_any(); });
}

using CommandList = std::list<std::shared_ptr<EventState>>;

bool has_known_outcome(const EventState& command) noexcept {
  return command.is_done || !command.failure.empty();
}

// The oldest command whose outcome is not known; nullptr: there is none.  Those before it that are
// done go to `done`.  The caller holds the lock.
std::shared_ptr<EventState> oldest_unknown(AsyncErrors& errors, CommandList* done) {
  auto command = errors.begun.begin();
  while (command != errors.begun.end() && has_known_outcome(**command)) {
    const auto known = command;
    ++command;
    if ((*known)->is_done) done->splice(done->end(), errors.begun, known);
  }
  return command == errors.begun.end() ? nullptr : *command;
}

// Without the lock, and while no thread waits for a command: a handler may wait for the same ones.
void look_for_signals_without(std::unique_lock<Mutex>* lock) {
  lock->unlock();
  look_for_signals();
  lock->lock();
}

struct Outcome {
  enum class State {
    known,        // `failure` is that of the command, or empty
    pending,      // it is not over, and was not waited for
    interrupted,  // signals have to be looked for first
  };
  State state;
  std::string failure = {};
};

// Waits for a command, or only looks at it, without the lock, while other threads leave all waits
// for the queue to this one.
Outcome outcome_in_turn(const QueueState& state, EventState& command, bool waits,
                        Clock::time_point begin, std::unique_lock<Mutex>* lock) {
  AsyncErrors& errors = *state.errors;
  errors.awaited_in = process_generation;
  lock->unlock();
  const ScopeExit end_of_turn([lock, &errors] {
    lock->lock();
    errors.awaited_in = -1;
    somebody_knows().notify_all();
  });
  const bool is_of_this_process = command.process == process_generation;
  if (!waits && is_of_this_process && !is_over(command)) return {Outcome::State::pending};
  std::optional<std::string> failure = failure_of(command, begin);
  if (!failure) return {Outcome::State::interrupted};
  (void)collect_errors(state);  // of a command that the runtime could not submit
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
  } else if (!command.goes_on()) {  // the failure of a copy stays for the readers of its target
    command.abandon();
  }
}

}  // namespace

// After a failed command a driver may skip those behind it, and it reports the failure once, to
// the first thread that waits for one of them.  So one thread at a time waits for the commands of a
// queue, oldest first; and those that had been submitted when a wait failed, and were not known to
// be done, count as failed, because no wait will report them.
void look_at_commands(const QueueState& state, const EventState* last) {
  if (!state.errors) return;
  AsyncErrors& errors = *state.errors;
  const Clock::time_point begin = Clock::now();
  CommandList done;  // dropped without the lock
  std::unique_lock<Mutex> lock(locks.async_errors);
  for (;;) {
    std::shared_ptr<EventState> next = oldest_unknown(errors, &done);
    if (!next || (last && has_known_outcome(*last))) return;
    if (errors.awaited_in == process_generation) {  // in another thread
      if (!last) return;
      next.reset();  // or it might go here, with its event and under the lock
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
    return std::make_shared<QueueState>(std::move(queue), false, std::move(errors));
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

std::string failure_of_copies(const QueueState& state, const std::byte* data, std::size_t nbytes,
                              bool told) {
  std::string failure;
  if (!state.errors) return failure;
  if (is_forked_child()) {
    const WithoutGil released;
    sycl_call("looking at copies", [&state] { look_at_commands(state); });
  }
  const std::lock_guard<Mutex> lock(locks.async_errors);
  for (const auto& copy : state.errors->begun) {
    if (copy->target >= data + nbytes || data >= copy->target + copy->nbytes) continue;
    const bool counts_as_failed = copy->failures < state.errors->failures;
    if (copy->failure.empty() && counts_as_failed) copy->failure = state.errors->failure;
    if (copy->is_done || copy->failure.empty()) continue;
    failure = copy->failure;
    if (told) copy->abandon();
  }
  return failure;
}

}  // namespace sycl_ext
