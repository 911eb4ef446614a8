// SPDX-License-Identifier: Apache-2.0
#include "runtime/sycl/queue.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>

#include "base/host.hpp"
#include "base/lock.hpp"
#include "base/waiting.hpp"
#include "runtime/sycl/bug_opencl_flush.hpp"
#include "runtime/sycl/bug_v1_foreign_events.hpp"
#include "runtime/sycl/commands.hpp"
#include "runtime/sycl/device_mark.hpp"
#include "runtime/sycl/kernel_state.hpp"

namespace sycl_ext {

namespace {

bool is_recording(const QueueState& state) {
  return locked_call("querying whether a queue is recording", [&] {
    return state.queue.ext_oneapi_get_state() ==
           sycl::ext::oneapi::experimental::queue_state::recording;
  });
}

// Raises an error if the queue records a SYCL graph, because a recorded command does not run, and a
// barrier there would be a node of the graph, as would all work that is ordered after it.  False:
// the queue has recorded since a consumer named it, so no work of that consumer is pending there.
bool require_executing(const QueueState& state) {
  if (!is_recording(state)) return true;
  if (state.recorded_at_first) return false;
  fail(Error::Kind::buffer,
       "cannot wait for a queue that may be using the memory, because it is recording a SYCL "
       "graph; end the recording first, or request no synchronization "
       "(__dlpack__(stream=-1))");
}

// The event of all work that was submitted so far; on an out-of-order queue, of all work that the
// device was given.  Empty when that work is done.
std::optional<sycl::event> mark(const QueueState& state) {
  if (belongs_to_parent(state)) return std::nullopt;
  if (!require_executing(state)) return std::nullopt;
  try {
    if (!state.answers_at_once && answer_under_lock(state) == Work::none) return std::nullopt;
  } catch (const sycl::exception&) {
    // A command has failed, and Level Zero repeats the error until a thread has waited for the
    // queue.
  }
  const RuntimeCall call("submitting a barrier");
  if (!state.in_order) return mark_device(state);
  return const_cast<sycl::queue&>(state.queue).ext_oneapi_submit_barrier();
}

// The mark of an earlier question, if it was not over then; otherwise empty.
std::optional<sycl::event> take_unmet_mark(const QueueState& state) {
  const std::lock_guard<Mutex> lock(locks.async_errors);
  return std::exchange(state.unmet_mark, std::nullopt);
}

void keep_unmet_mark(const QueueState& state, std::optional<sycl::event> mark) {
  const std::lock_guard<Mutex> lock(locks.async_errors);
  state.unmet_mark.swap(mark);  // drops another thread's mark without the lock
}

// The answer of a runtime that takes no lock.  No new mark is submitted while an earlier one is
// pending, because libintelocl ends chains of marks by recursion (reaper.cpp).  The runtime's own
// answer must not be used: ext_oneapi_empty() reads an event that another thread frees when that
// thread submits.
Work answer_at_once(const QueueState& state) {
  const RuntimeCall call("querying whether a queue is idle");  // covers all calls below
  const std::int64_t abandoned = state.abandoned;
  if (!belongs_to_parent(state)) {
    std::optional<sycl::event> last = take_unmet_mark(state);
    Work answer = work_of(last);
    if (answer == Work::none) {
      last = mark(state);
      answer = work_of(last, soon);
    }
    if (answer != Work::none) {
      keep_unmet_mark(state, std::move(last));
      return answer;
    }
  }
  if (collect_errors(state)) return Work::unknown;
  look_at_commands(state);
  state.note_done(abandoned);  // not reached with an unreported error
  return Work::none;
}

// Orders later commands of the queue after these events, which are of the same context.
void follow(const std::shared_ptr<QueueState>& state, const std::vector<sycl::event>& events) {
  if (events.empty()) return;
  state->follows_others = true;
  // The events are dependencies of the barrier as well.  If the barrier comes after a host task,
  // the thread of that host task waits for events that are only in the list of the barrier, and
  // such an event may come after the next barrier.
  submit(state, [&](sycl::queue& queue) {
    return queue.submit([&](sycl::handler& barrier) {
      barrier.depends_on(events);
      barrier.ext_oneapi_barrier(events);
    });
  });
}

// For an out-of-order queue of Level Zero: waits before a barrier is submitted to it, because such
// a barrier may be harmful (device_mark.cpp).
bool ends_within_a_second(const QueueState& state) {
  if (state.in_order || state.answers_at_once) return false;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  bool is_met = false;
  wait_until([&] {
    is_met = answer_under_lock(state) == Work::none;
    return is_met || std::chrono::steady_clock::now() > end;
  });
  return is_met;
}

sycl::event launch_on(sycl::queue& queue, const Launch& launch) {
  const auto range = [](const std::array<std::size_t, 3>& of) {  // SYCL counts from the slow one
    return sycl::range<3>(of[2], of[1], of[0]);
  };
  return queue.submit([&](sycl::handler& handler) {
    handler.set_args(launch.to, launch.from, launch.loops);
    handler.parallel_for(sycl::nd_range<3>(range(launch.items), range(launch.group)),
                         launch.kernel->kernel);
  });
}

std::shared_ptr<EventState> submit_kernel(const std::shared_ptr<QueueState>& state,
                                          const Launch& launch) {
  return sycl_call("copying USM with a kernel", [&] {
    return submit(state, [&](sycl::queue& queue) { return launch_on(queue, launch); });
  });
}

std::shared_ptr<EventState> submit_memcpy(const std::shared_ptr<QueueState>& state, void* to,
                                          const void* from, std::size_t nbytes) {
  return sycl_call("copying USM", [&] {
    return submit(state, [&](sycl::queue& queue) { return queue.memcpy(to, from, nbytes); });
  });
}

}  // namespace

Queue Queue::from_address(const void* address) {
  return sycl_call("querying a queue", [&] {
    const auto& queue = *static_cast<const sycl::queue*>(address);
    return Queue(std::make_shared<QueueState>(queue, /*shared=*/true, nullptr));
  });
}

bool Queue::operator==(const Queue& other) const noexcept {
  if (state_ == other.state_) return true;
  return state_ && other.state_ && state_->queue == other.state_->queue;
}

std::size_t Queue::hash() const noexcept { return std::hash<sycl::queue>()(state_->queue); }

bool Queue::is_at(const void* address) const noexcept {
  return state_->queue == *static_cast<const sycl::queue*>(address);
}

bool Queue::in_order() const noexcept { return state_->in_order; }

bool Queue::is_ours() const noexcept { return state_->errors != nullptr; }

Queue Queue::for_work_from_now() const {
  const WithoutGil released;
  Queue mine = from_address(&state_->queue);
  mine.state_->recorded_at_first = is_recording(*state_);
  return mine;
}

bool Queue::recorded_at_first() const noexcept { return state_->recorded_at_first; }

// An event of another context crashes libintelocl.
bool Queue::can_follow(const Queue& other) const {
  return sycl_call("comparing two queues", [&] {
    const sycl::queue &mine = state_->queue, &theirs = other.state_->queue;
    if (bug::unlocks_twice(mine.get_device(), theirs.get_device())) return false;
    return mine.get_context() == theirs.get_context();
  });
}

const void* Queue::share() const noexcept {
  state_->shared = true;
  return &state_->queue;
}

Owner Queue::new_reference() const {
  state_->shared = true;
  return new_reference_of(state_->queue);
}

// libsycl keeps the order of the commands on an in-order queue.
std::vector<Event> Queue::noted_events() const {
  std::vector<Event> events;
  const Host* const python = host;
  if (python && !in_order()) python->find_noted_events(*this, &events);
  for (const Event& event : events) event.state()->noted_on = state_;
  return events;
}

Work Queue::work(How how) const {
  const Work counted = state_->by_counters();
  if (counted == Work::none || how == How::counters) return counted;
  const std::vector<Event> noted = noted_events();
  const WithoutGil released;
  for (const Event& event : noted) {
    const Work answer = event.work(how);
    if (answer != Work::none) return answer;
  }
  try {
    if (state_->answers_at_once) return answer_at_once(*state_);
    return how == How::ask_under_lock ? answer_under_lock(*state_) : Work::unknown;
  } catch (...) {
    return Work::unknown;  // wait() reports the error
  }
}

void Queue::wait() const {
  if (work(How::counters) == Work::none) return;
  const std::vector<Event> noted = noted_events();
  const WithoutGil released;
  sycl_call("waiting for a queue", [&, state = state_] {
    if (!require_executing(*state)) return;
    const std::int64_t abandoned = state->abandoned;
    // Waits up to the newest command of now, because other threads may submit for ever.
    if (const auto last = last_command(*state)) look_at_commands(*state, last.get());
    // The noted events come first: when they are over, the device has been given all work behind
    // them.
    wait_for_all(noted);
    if (!ends_within_a_second(*state)) {
      wait_for_all({Queue(state).marker()});
      // Level Zero ends the marker on a command list of its own, so the queue is asked about the
      // other lists.
      if (!state->in_order && !state->answers_at_once) (void)answer_under_lock(*state);
    }
    state->note_done(abandoned);
  });
  tell_errors();
}

void Queue::finish(const std::vector<Event>& events) const {
  wait_for_all(events);
  tell_errors();
}

void Queue::tell_errors() const {
  std::string text;
  if (sycl_call("collecting asynchronous errors", [this] { return collect_errors(*state_); })) {
    const std::lock_guard<Mutex> lock(locks.async_errors);
    text.swap(state_->errors->first);
  }
  if (text.empty()) return;  // another thread may have reported it
  fail(Error::Kind::runtime, "work submitted earlier to this queue failed: ", text);
}

Event Queue::marker() const {
  if (work(How::counters) == Work::none) return Event();
  return sycl_call(
      "submitting a barrier",
      [&] {
        std::optional<sycl::event> all = mark(*state_);
        if (!all) return Event();
        const RuntimeCall call("flushing a queue");
        bug::flush(*state_);
        return Event(std::make_shared<EventState>(std::move(*all), state_));
      },
      state_->queue.get_backend());
}

std::vector<Event> Queue::pending() const {
  std::vector<Event> events = noted_events();
  const WithoutGil released;
  events.push_back(marker());
  return events;
}

void Queue::order_after(const Queue& producer) const {
  if (producer.work(How::counters) == Work::none) return;
  if (*this == producer && in_order()) return;
  const WithoutGil released;
  if (is_recording(*state_)) {  // a graph cannot depend on outside work
    if (producer.work(How::ask) == Work::none) return;
    fail(Error::Kind::buffer,
         "the consumer's queue is recording a SYCL graph, which cannot depend on pending work on "
         "the memory; wait for that work first (stream=None), or request no synchronization "
         "(stream=-1)");
  }
  if (!in_order() || !can_follow(producer)) {
    producer.wait();
    return;
  }
  const std::vector<Event> noted = producer.noted_events();
  sycl_call("ordering one queue after another", [&] {
    std::vector<sycl::event> events;
    for (const Event& event : noted) events.push_back(event.state()->event);
    if (std::optional<sycl::event> done = mark(producer.state())) events.push_back(*done);
    if (events.empty()) return;
    follow(state_, events);
  });
}

void Queue::order_after(const Event& event) const {
  if (event.work(How::ask_under_lock) == Work::none || !in_order() ||
      !can_follow(Queue(event.state()->queue)))
    return;
  sycl_call("ordering a queue after a command", [&] {
    const std::vector<sycl::event> command(1, event.state()->event);
    follow(state_, command);
  });
}

void Queue::copy(void* to, const void* from, std::size_t nbytes) const {
  finish({submit_copy(to, from, nbytes)});
}

void Queue::forget_copies_to(const std::byte* data, std::size_t nbytes) const {
  sycl_ext::forget_copies_to(*state_, data, nbytes);
}

std::string Queue::failure_of_copies(const std::byte* data, std::size_t nbytes,
                                     bool mark_reported) const {
  return sycl_ext::failure_of_copies(*state_, data, nbytes, mark_reported);
}

Event Queue::submit_copy(void* to, const void* from, std::size_t nbytes) const {
  const std::shared_ptr<EventState> command = submit_memcpy(state_, to, from, nbytes);
  list_command(command);
  return Event(command);
}

Event Queue::submit_copy(const Launch& launch) const {
  const std::shared_ptr<EventState> command = submit_kernel(state_, launch);
  list_command(command);
  return Event(command);
}

Event Queue::begin_copy(void* to, const void* from, std::size_t nbytes) const {
  return begin(to, nbytes, [&] { return submit_memcpy(state_, to, from, nbytes); });
}

Event Queue::begin_copy(const Launch& launch) const {
  return begin(launch.to, launch.nbytes, [&] { return submit_kernel(state_, launch); });
}

template <class Submit>
Event Queue::begin(const void* to, std::size_t nbytes, const Submit& submit) const {
  if (const auto last = last_command(*state_, most_copies)) {
    sycl_call("waiting for earlier copies", [&] { look_at_commands(*state_, last.get()); });
  }
  std::shared_ptr<EventState> copy = submit();
  locked_call("submitting a barrier", [&] {
    copy->end = state_->queue.ext_oneapi_submit_barrier();
    bug::flush(*state_);
    look_at_commands(*state_);
  });
  copy->target = static_cast<const std::byte*>(to);
  copy->nbytes = nbytes;
  list_command(copy);
  return Event(copy);
}

void Queue::fill_zero(void* to, std::size_t nbytes) const {
  const std::shared_ptr<EventState> command = sycl_call("zeroing USM", [&] {
    return submit(state_, [&](sycl::queue& queue) { return queue.memset(to, 0, nbytes); });
  });
  list_command(command);
  finish({Event(command)});
}

// A hint is not listed: no data depends on it.
void Queue::prefetch(const void* data, std::size_t nbytes) const {
  const WithoutGil released;
  sycl_call("prefetching USM", [&] {
    submit(state_, [&](sycl::queue& queue) { return queue.prefetch(data, nbytes); });
  });
}

void Queue::advise(const void* data, std::size_t nbytes, int advice) const {
  const WithoutGil released;
  sycl_call("giving advice about USM", [&] {
    submit(state_, [&](sycl::queue& queue) { return queue.mem_advise(data, nbytes, advice); });
  });
}

}  // namespace sycl_ext
