// SPDX-License-Identifier: Apache-2.0
#include "runtime/sycl/commands.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <thread>
#include <utility>

#include "base/fork.hpp"
#include "base/interpreter.hpp"

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
static bool is_over(const EventState& state) {
  if (is_over(state.end)) return true;
  if (!state.queue || !state.queue->in_order || state.queue->answers_at_once) return false;
  try {
    return is_empty(*state.queue);
  } catch (const sycl::exception& error) {
    if (!is_device_lost(error)) throw;
    return true;
  }
}

namespace {

// Asks until it is over.
void poll(const sycl::event& event) {
  constexpr std::chrono::microseconds longest_pause{500};
  constexpr std::chrono::seconds longest_wait_of_child{10};
  const bool is_child = is_forked_child();
  const auto end = std::chrono::steady_clock::now() + longest_wait_of_child;
  std::chrono::microseconds pause{10};
  while (!is_over_soon(event)) {
    if (is_child && std::chrono::steady_clock::now() > end) {
      fail(Error::Kind::runtime, "work on a queue has not ended in ", longest_wait_of_child.count(),
           " s in a forked process; work that the parent submitted before the fork ends only in "
           "the parent: wait for it there before the fork");
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, longest_pause);
  }
}

// event.wait() keeps libsycl's scheduler locked while the command waits for a host task, which may
// want the GIL; and dpctl holds the GIL while it submits, which takes that lock.  So on a queue
// where others submit, or that was ordered after one, it is called when the command is over, for
// its errors.
void wait_for(sycl::event event, const QueueState& state) {
  if ((state.shared || state.follows_others || is_forked_child()) && state.answers_at_once) {
    {
      const RuntimeCall brief("flushing a queue");
      const_cast<sycl::queue&>(state.queue).ext_oneapi_prod();
    }
    poll(event);
  }
  event.wait();
}

// Waits for a command; the text of its error, or nothing.  A command of other code is not waited
// for in the runtime: its errors belong to that code.
std::string failure_of(const EventState& state) {
  const RuntimeCall wait("waiting for a command", true);
  if (!state.queue) {
    poll(state.event);
    return "";
  }
  using Status = sycl::info::event_command_status;
  const bool is_parents = state.process != process_generation;
  try {
    if (is_parents && !(is_cpu(*state.queue) && is_over(state))) {
      return "it was under way when this process was forked, and goes on in the parent only; wait "
             "for it before the fork, or copy again";
    }
    if (!is_parents) wait_for(state.event, *state.queue);
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
std::condition_variable_any& is_known() {
  return is_known_in.get([] { return std::condition_variable_any(); });
}

}  // namespace

// After a failed command a driver may skip those behind it, and it reports the failure once, to
// the first thread that waits for one of them.  So one thread at a time waits for the commands of a
// queue, oldest first; and those that had been submitted when a wait failed, and were not known to
// be done, count as failed, because no wait will report them.
void look_at_commands(const QueueState& state, const EventState* last) {
  if (!state.errors) return;
  AsyncErrors& errors = *state.errors;
  std::list<std::shared_ptr<EventState>> over;  // let go without the lock
  std::unique_lock<Mutex> lock(locks.async_errors);
  const auto is_settled = [](const EventState& one) { return one.is_done || !one.failure.empty(); };
  const auto end_of_wait = [&lock](AsyncErrors* all) {
    lock.lock();
    all->awaited_in = -1;
    is_known().notify_all();
  };
  for (;;) {
    auto found = errors.begun.begin();
    while (found != errors.begun.end() && is_settled(**found)) {
      const auto one = found++;
      if ((*one)->is_done) over.splice(over.end(), errors.begun, one);
    }
    if (found == errors.begun.end() || (last && is_settled(*last))) return;
    if (errors.awaited_in == process_generation) {
      if (!last) return;
      is_known().wait(lock);
      continue;
    }
    const std::shared_ptr<EventState> next = *found;
    std::string failure;
    {
      errors.awaited_in = process_generation;
      lock.unlock();  // until the end of this block
      const std::unique_ptr<AsyncErrors, decltype(end_of_wait)> waits(&errors, end_of_wait);
      if (!last && next->process == process_generation && !is_over(*next)) return;
      failure = failure_of(*next);
      (void)collect_errors(state);  // of a command that the runtime could not submit
    }
    if (!failure.empty()) {
      ++errors.failures;
      errors.failure = failure;
    }
    if (next->failures < errors.failures) failure = errors.failure;
    next->failure = failure;
    // The failure of a copy that goes on stays for the readers of its target.
    if (failure.empty()) next->finish();
    if (!failure.empty() && !next->goes_on()) next->abandon();
  }
}

std::shared_ptr<EventState> last_command(const QueueState& state, std::size_t least) {
  if (!state.errors) return nullptr;
  const std::lock_guard<Mutex> lock(locks.async_errors);
  return state.errors->begun.size() < least ? nullptr : state.errors->begun.back();
}

Event list(std::shared_ptr<EventState> command) {
  if (AsyncErrors* const errors = command->queue->errors.get()) {
    const std::lock_guard<Mutex> lock(locks.async_errors);
    if (!command->is_listed) errors->begun.push_back(command);
    command->is_listed = true;
  }
  return Event(std::move(command));
}

// Blocks until the outcome of a command is known.
static void settle(const std::shared_ptr<EventState>& command) {
  if (command->queue && command->queue->errors) {
    list(command);
    return look_at_commands(*command->queue, command.get());
  }
  const std::string failure = failure_of(*command);
  const std::lock_guard<Mutex> lock(locks.async_errors);
  command->failure = failure;
  failure.empty() ? command->finish() : command->abandon();
}

std::string Queue::failure_of_copies(const std::byte* data, std::size_t nbytes, bool told) const {
  std::string failure;
  if (!state_->errors) return failure;
  if (is_forked_child()) {
    const WithoutGil released;
    sycl_call("looking at copies", [this] { look_at_commands(*state_); });
  }
  const std::lock_guard<Mutex> lock(locks.async_errors);
  for (const auto& copy : state_->errors->begun) {
    if (copy->target >= data + nbytes || data >= copy->target + copy->nbytes) continue;
    const bool counts_as_failed = copy->failures < state_->errors->failures;
    if (copy->failure.empty() && counts_as_failed) copy->failure = state_->errors->failure;
    if (copy->is_done || copy->failure.empty()) continue;
    failure = copy->failure;
    if (told) copy->abandon();
  }
  return failure;
}

void wait_for_all(const std::vector<Event>& events) {
  const auto is_done = [](const Event& event) { return !event.state_ || event.state_->is_done; };
  if (!std::all_of(events.begin(), events.end(), is_done)) {
    const WithoutGil released;
    wait_interruptibly([events, is_done] {
      sycl_call("waiting for commands", [&] {
        for (const Event& event : events) {
          if (!is_done(event)) settle(event.state_);
        }
      });
    });
  }
  for (const Event& event : events) {
    if (!event.state_) continue;
    std::string failure;
    {
      const std::lock_guard<Mutex> lock(locks.async_errors);
      failure = event.state_->failure;
    }
    if (failure.empty()) continue;
    event.state_->abandon();
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
    if (is_device_lost(error)) return true;
  } catch (...) {  // no memory for the question
  }
  return std::nullopt;
}

Owner Event::new_reference() const { return new_reference_of(state_->event); }

}  // namespace sycl_ext
