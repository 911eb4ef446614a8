// SPDX-License-Identifier: Apache-2.0
#include "runtime/queue.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <optional>
#include <thread>
#include <utility>

#include "base/fork.hpp"
#include "base/interpreter.hpp"
#include "runtime/runtime_call.hpp"
#include "runtime/sycl_handles.hpp"

namespace sycl_ext {

namespace {

bool is_cpu(const QueueState& state) { return state.queue.get_device().is_cpu(); }

std::shared_ptr<QueueState> make_state(sycl::queue queue, bool shared,
                                       std::shared_ptr<AsyncErrors> errors) {
  const std::shared_ptr<QueueState> state(new QueueState{std::move(queue)});
  state->in_order = state->queue.is_in_order();
  state->answers_at_once = state->queue.get_backend() == sycl::backend::opencl;
  state->shared = shared;
  state->errors = std::move(errors);
  return state;
}

// Submits a command of ours, and counts it.
template <class Submit>
std::shared_ptr<EventState> submit(const std::shared_ptr<QueueState>& state, const Submit& submit) {
  const RuntimeCall call("submitting a command");
  require_not_forked([&] { return is_cpu(*state); });
  ++state->pending;
  try {
    const std::uint64_t failures = state->errors ? state->errors->failures.load() : 0;
    return std::make_shared<EventState>(submit(state->queue), state, failures);
  } catch (...) {  // it is unknown whether it was submitted
    ++state->abandoned;
    --state->pending;
    throw;
  }
}

// A command that has failed has a status of its own.
bool is_over(const sycl::event& event) {
  using Status = sycl::info::event_command_status;
  const RuntimeCall call("asking for the status of a command");
  const Status status = event.get_info<sycl::info::event::command_execution_status>();
  return status != Status::submitted && status != Status::running;
}

// Whether all that was submitted is done, as the runtime says.
bool is_empty(const QueueState& state) {
  if (is_forked_child() && !is_cpu(state)) return true;  // it was the parent's
  const RuntimeCall call("asking whether a queue is empty");
  return state.queue.ext_oneapi_empty();
}

// Of a command that goes on by itself.  For ever, Level Zero v1 says of one that has failed that it
// is submitted; the queue tells.
// https://github.com/oneapi-src/unified-runtime/blob/main/source/adapters/level_zero/event.cpp
bool is_over(const EventState& state) {
  if (is_over(state.end)) return true;
  if (!state.goes_on || state.queue->answers_at_once) return false;
  try {
    return is_empty(*state.queue);
  } catch (const sycl::exception& error) {
    if (!is_device_lost(error)) throw;
    return true;
  }
}

// Has the asynchronous errors of the queue delivered to our handler; a third party's queue keeps
// its own.  Whether there are any that nobody has been told of.
bool collect_errors(const QueueState& state) {
  if (!state.errors) return false;
  const RuntimeCall call("collecting asynchronous errors");
  const_cast<sycl::queue&>(state.queue).throw_asynchronous();  // a handle: the queue is not const
  return state.errors->any;
}

bool is_recording(const QueueState& state) {
  return sycl_call("asking whether a queue records", [&] {
    const RuntimeCall call("asking whether a queue records");
    return state.queue.ext_oneapi_get_state() ==
           sycl::ext::oneapi::experimental::queue_state::recording;
  });
}

// A command that a queue records does not run, and a barrier there would be a node of the graph, as
// would all that is ordered after it.
void require_executing(const QueueState& state) {
  if (!is_recording(state)) return;
  fail(Error::Kind::buffer,
       "a queue that may have work on the memory records a SYCL graph, so what it was given can "
       "neither be waited for nor be put before other work; end the recording first, or say that "
       "nothing is to be ordered (__dlpack__(stream=-1))");
}

// The event of all that was submitted so far, on an out-of-order queue of all that the device was
// given; empty when it is done.
std::optional<sycl::event> mark(const QueueState& state) {
  if (is_forked_child() && !is_cpu(state)) return std::nullopt;
  require_executing(state);
  try {
    if (!state.answers_at_once && is_empty(state)) return std::nullopt;
  } catch (const sycl::exception&) {
    // A command has failed, and Level Zero repeats the error until a thread has waited.
  }
  const RuntimeCall call("submitting a barrier");
  if (!state.in_order) return mark_device(state.queue);
  return const_cast<sycl::queue&>(state.queue).ext_oneapi_submit_barrier();
}

// Whether it ends in less time than it takes to have another thread wait for it.
bool is_over_soon(const std::optional<sycl::event>& event) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(20);
  while (event && !is_over(*event)) {
    if (std::chrono::steady_clock::now() > end) return false;
  }
  return true;
}

// Whether somebody else submits to the queue, or to one that it was ordered after.
bool depends_on_others(const QueueState& state) { return state.shared || state.follows_others; }

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
           " s in a forked process; what its parent had submitted before the fork ends only in "
           "the parent: wait for it before the fork");
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
  const WaitForWork call("waiting for a command");
  if ((depends_on_others(state) || is_forked_child()) && state.answers_at_once) {
    {
      const RuntimeCall brief("flushing a queue");
      const_cast<sycl::queue&>(state.queue).ext_oneapi_prod();
    }
    poll(event);
  }
  event.wait();
}

// Later commands come after these, which are of the same context.
void follow(const std::shared_ptr<QueueState>& state, const std::vector<sycl::event>& events) {
  if (events.empty()) return;
  state->follows_others = true;
  // As dependencies as well: an event that is only in a barrier's list is waited for when the
  // barrier leaves a host task behind, by the thread of that host task, and may be behind the next
  // one.
  submit(state, [&](sycl::queue& queue) {
    return queue.submit([&](sycl::handler& barrier) {
      barrier.depends_on(events);
      barrier.ext_oneapi_barrier(events);
    });
  });
}

// Level Zero, on an out-of-order queue: waits before a barrier is submitted to it, which may be
// harmful (device_mark.cpp).
bool is_empty_after_a_while(const QueueState& state) {
  if (state.in_order || state.answers_at_once) return false;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (!is_empty(state)) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return true;
}

// Waits for a command; the text of its error, or nothing.  A command of other code is not waited
// for in the runtime: its errors belong to that code.
std::string failure_of(const EventState& state) {
  if (!state.queue) {
    const WaitForWork call("waiting for a command of somebody else");
    poll(state.event);
    return "";
  }
  using Status = sycl::info::event_command_status;
  try {
    wait_for(state.event, *state.queue);
    const RuntimeCall call("asking for the status of a command");
    const Status status = state.event.get_info<sycl::info::event::command_execution_status>();
    return status == Status::complete || !state.goes_on
               ? ""
               : "the device says that it has failed, and not why";
  } catch (const sycl::exception& error) {
    return error.what();
  }
}

// A thread waits until the outcome of a command is known.  A child has none of the threads.
PerProcess<std::condition_variable_any>& is_known = *new PerProcess<std::condition_variable_any>;

// One thread waits for the oldest command of a queue while this lives, without the lock.
class OnlyWait {
 public:
  OnlyWait(AsyncErrors* errors, std::unique_lock<Mutex>* lock) : errors_(errors), lock_(lock) {
    errors_->awaited_in = process_generation();
    lock_->unlock();
  }
  ~OnlyWait() {
    lock_->lock();
    errors_->awaited_in = -1;
    is_known->notify_all();
  }
  OnlyWait(const OnlyWait&) = delete;
  OnlyWait& operator=(const OnlyWait&) = delete;

 private:
  AsyncErrors* const errors_;
  std::unique_lock<Mutex>* const lock_;
};

// Learns the outcome of the commands that are listed, and forgets those that are done.  `wait`:
// of all, or of those up to `last`.
//
// After a failed command a driver may skip those behind it, and it reports the failure once, to
// the first thread that waits for one of them.  So one thread at a time waits for the commands of a
// queue, oldest first; and those that had been submitted when a wait failed, and were not known to
// be done, count as failed, because no wait will report them.
void look_at_commands(const QueueState& state, bool wait, const EventState* last = nullptr) {
  if (!state.errors) return;
  AsyncErrors& errors = *state.errors;
  const auto is_settled = [](const EventState& one) { return one.is_done || !one.failure.empty(); };
  std::list<std::shared_ptr<EventState>> over;  // let go without the lock
  std::unique_lock<Mutex> lock(AsyncErrors::mutex);
  for (;;) {
    auto found = errors.begun.begin();
    while (found != errors.begun.end() && is_settled(**found)) {
      const auto one = found++;
      if ((*one)->is_done) over.splice(over.end(), errors.begun, one);
    }
    if (found == errors.begun.end() || (last && is_settled(*last))) return;
    if (errors.awaited_in == process_generation()) {
      if (!wait) return;
      is_known->wait(lock);
      continue;
    }
    const std::shared_ptr<EventState> next = *found;
    std::string failure;
    {
      const OnlyWait only(&errors, &lock);
      if (!wait && !is_over(*next)) return;
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
    if (failure.empty())
      next->finish();
    else if (!next->goes_on)
      next->abandon();
  }
}

// The oldest of the `count` newest copies that go on and whose outcome is not known; nullptr: there
// are fewer.
std::shared_ptr<EventState> copy_before(const QueueState& state, std::size_t count) {
  if (!state.errors) return nullptr;
  const std::lock_guard<Mutex> lock(AsyncErrors::mutex);
  const auto& begun = state.errors->begun;
  if (begun.size() < count) return nullptr;
  const auto found = std::find_if(begun.rbegin(), begun.rend(), [&](const auto& one) {
    return one->goes_on && !one->is_done && one->failure.empty() && --count == 0;
  });
  return found == begun.rend() ? nullptr : *found;
}

// The newest of the commands that are listed; nullptr: none is.
std::shared_ptr<EventState> last_command(const QueueState& state) {
  if (!state.errors) return nullptr;
  const std::lock_guard<Mutex> lock(AsyncErrors::mutex);
  return state.errors->begun.empty() ? nullptr : state.errors->begun.back();
}

// Before anybody waits for a command of ours; a third party's queue has no list.
Event list(std::shared_ptr<EventState> command) {
  if (AsyncErrors* const errors = command->queue->errors.get()) {
    const std::lock_guard<Mutex> lock(AsyncErrors::mutex);
    if (!command->is_listed) errors->begun.push_back(command);
    command->is_listed = true;
  }
  return Event(std::move(command));
}

// Blocks until the outcome of a command is known.
void settle(const std::shared_ptr<EventState>& command) {
  if (command->queue && command->queue->errors) {
    list(command);
    return look_at_commands(*command->queue, true, command.get());
  }
  const std::string failure = failure_of(*command);
  const std::lock_guard<Mutex> lock(AsyncErrors::mutex);
  command->failure = failure;
  failure.empty() ? command->finish() : command->abandon();
}

// Of a command that is settled.
void raise_failure(EventState* command) {
  std::string failure;
  {
    const std::lock_guard<Mutex> lock(AsyncErrors::mutex);
    failure = command->failure;
  }
  if (failure.empty()) return;
  command->abandon();
  fail(Error::Kind::runtime, "a command has failed: ", failure);
}

std::shared_ptr<EventState> submit_memcpy(const std::shared_ptr<QueueState>& state, void* to,
                                          const void* from, std::size_t nbytes) {
  return sycl_call("copying USM", [&] {
    return submit(state, [&](sycl::queue& queue) { return queue.memcpy(to, from, nbytes); });
  });
}

std::atomic<EventSource> event_source{nullptr};

// The first of the errors that nobody has been told of; empty: there is none.
std::string take_errors(const QueueState& state) {
  if (!state.errors || !collect_errors(state)) return "";
  std::string text;
  {
    const std::lock_guard<Mutex> lock(AsyncErrors::mutex);
    text.swap(state.errors->first);
    state.errors->any = false;
  }
  return text;
}

}  // namespace

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
      const std::lock_guard<Mutex> lock(AsyncErrors::mutex);
      if (errors->first.empty()) errors->first = text;
      errors->any = true;
      ++errors->failures;
      errors->failure = text;
    }
  };
  return sycl_call("creating a queue", [&] {
    sycl::queue queue(context, device, handler, properties);
    return make_state(std::move(queue), false, std::move(errors));
  });
}

void wait_for_all(std::vector<Event> events) {
  events.erase(std::remove_if(events.begin(), events.end(),
                              [](const Event& event) { return !event.state_; }),
               events.end());
  if (events.empty()) return;
  wait_interruptibly([events] {
    sycl_call("waiting for commands", [&] {
      for (const Event& event : events) settle(event.state_);
    });
  });
  for (const Event& event : events) raise_failure(event.state_.get());
}

Event Event::from_address(const void* address) {
  return Event(std::make_shared<EventState>(*static_cast<const sycl::event*>(address), nullptr));
}

void set_event_source(EventSource source) noexcept { event_source = source; }

bool Event::is_done() const noexcept {
  try {
    if (!state_ || state_->is_done || state_->process != process_generation()) return true;
    if (!is_over(*state_)) return false;
    const std::lock_guard<Mutex> lock(AsyncErrors::mutex);
    if (!state_->is_listed) state_->finish();
    return true;
  } catch (const sycl::exception& error) {
    return is_device_lost(error);  // for another reason: it may run
  } catch (...) {
    return false;  // no memory for the question
  }
}

void Event::wait() const {
  if (!state_) return;
  if (!state_->is_done) {
    if (state_->process != process_generation()) {
      fail(Error::Kind::runtime,
           "a copy was under way when this process was forked, and goes on in the parent only; "
           "wait for it before the fork, or copy again");
    }
    wait_interruptibly(
        [state = state_] { sycl_call("waiting for a command", [&] { settle(state); }); });
  }
  raise_failure(state_.get());
}

void* Event::new_reference() const { return new sycl::event(state_->event); }

void Event::delete_reference(void* reference) noexcept {
  delete static_cast<sycl::event*>(reference);
}

Queue Queue::from_address(const void* address) {
  return sycl_call("reading a queue", [&] {
    return Queue(make_state(*static_cast<const sycl::queue*>(address), true, nullptr));
  });
}

bool Queue::operator==(const Queue& other) const noexcept {
  if (state_ == other.state_) return true;
  return state_ && other.state_ && state_->queue == other.state_->queue;
}

bool Queue::in_order() const noexcept { return state_->in_order; }

bool Queue::same_context(const Queue& other) const {
  return sycl_call("asking for the context of a queue", [&] {
    return state_->queue.get_context() == other.state_->queue.get_context();
  });
}

const void* Queue::share() const noexcept {
  state_->shared = true;
  return &state_->queue;
}

void* Queue::new_reference() const {
  state_->shared = true;
  return new sycl::queue(state_->queue);
}

void Queue::delete_reference(void* reference) noexcept {
  delete static_cast<sycl::queue*>(reference);
}

bool Queue::may_have_work() const noexcept { return state_->may_have_work(); }

namespace {

bool are_done(const std::vector<Event>& events) {
  return std::all_of(events.begin(), events.end(), [](const Event& one) { return one.is_done(); });
}

}  // namespace

// libsycl keeps the order of the commands on an in-order queue.
std::vector<Event> Queue::noted_events() const {
  std::vector<Event> events;
  const EventSource source = event_source.load(std::memory_order_acquire);
  if (in_order() || !source) return events;
  source(&state_->queue,
         [&events](const void* address) { events.push_back(Event::from_address(address)); });
  return events;
}

bool Queue::is_idle() const {
  if (!may_have_work()) return true;
  const std::vector<Event> noted = noted_events();
  const WithoutGil released;
  return are_done(noted) && is_device_idle();
}

bool Queue::is_device_idle() const noexcept {
  if (!may_have_work()) return true;
  try {
    if (!state_->answers_at_once) return false;
    const WithoutGil released;
    const RuntimeCall call("asking whether a queue is idle");  // one for all that follow
    const std::int64_t abandoned = state_->abandoned;
    // Not ext_oneapi_empty(): it reads an event that another thread, which submits meanwhile,
    // frees.
    if (!is_over_soon(mark(*state_)) || collect_errors(*state_)) return false;
    look_at_commands(*state_, false);
    state_->settle(abandoned);  // not after an unreported error: the queue is not idle then
    return true;
  } catch (...) {
    return false;  // wait() reports the error
  }
}

bool Queue::has_pending_work() const {
  if (!may_have_work()) return false;
  try {
    const std::vector<Event> noted = noted_events();
    const WithoutGil released;
    return !are_done(noted) || !marker().is_done() || collect_errors(*state_);
  } catch (...) {
    return true;  // wait() reports the error
  }
}

void Queue::wait() const {
  if (!may_have_work()) return;
  std::vector<Event> noted = noted_events();
  const WithoutGil released;
  wait_interruptibly([state = state_, events = std::move(noted)] {
    sycl_call("waiting for a queue", [&] {
      require_executing(*state);
      const std::int64_t abandoned = state->abandoned;
      // Up to the last one of now: other threads may submit for ever.
      if (const auto last = last_command(*state)) look_at_commands(*state, true, last.get());
      // First these: then the device has been given whatever came after them.
      for (const Event& event : events) settle(event.state_);
      if (!is_empty_after_a_while(*state)) {
        if (std::optional<sycl::event> all = mark(*state)) {
          const auto end = std::make_shared<EventState>(*std::move(all), state);
          ++state->pending;
          list(end);
          settle(end);
          raise_failure(end.get());
        }
      }
      state->settle(abandoned);
    });
  });
  tell_errors();
}

void Queue::finish(std::vector<Event> events) const {
  wait_for_all(std::move(events));
  tell_errors();
}

void Queue::tell_errors() const {
  const std::string text =
      sycl_call("collecting asynchronous errors", [this] { return take_errors(*state_); });
  if (!text.empty()) {
    fail(Error::Kind::runtime, "work submitted earlier to this queue failed: ", text);
  }
}

Event Queue::marker() const {
  if (!may_have_work()) return Event();
  return sycl_call("submitting a barrier", [&] {
    std::optional<sycl::event> all = mark(*state_);
    if (!all) return Event();
    const RuntimeCall call("flushing a queue");
    sycl::queue(state_->queue).ext_oneapi_prod();
    const auto event = std::make_shared<EventState>(std::move(*all), state_);
    ++state_->pending;
    return Event(event);
  });
}

std::vector<Event> Queue::pending() const {
  std::vector<Event> events = noted_events();
  const WithoutGil released;
  events.push_back(marker());
  return events;
}

bool Queue::order_after(const Queue& producer) const {
  if (!producer.may_have_work()) return true;
  if (*this == producer && in_order()) return true;
  if (is_recording(*state_)) {  // a graph depends on nothing outside of it
    if (producer.is_idle()) return true;
    fail(Error::Kind::buffer,
         "the queue that is to see the data records a SYCL graph, and work is pending on the "
         "memory, which a graph cannot depend on; wait for that work before (stream=None does), or "
         "say that nothing is to be ordered (stream=-1)");
  }
  if (!in_order() || !same_context(producer)) {
    producer.wait();
    return false;
  }
  const std::vector<Event> noted = producer.noted_events();
  sycl_call("ordering one queue after another", [&] {
    std::vector<sycl::event> events;
    for (const Event& event : noted) events.push_back(event.state_->event);
    if (std::optional<sycl::event> done = mark(producer.state())) events.push_back(*done);
    follow(state_, events);
  });
  return true;
}

bool Queue::order_after(const Event& event) const {
  if (event.is_done()) return true;
  if (!in_order() || !same_context(Queue(event.state_->queue))) return false;
  sycl_call("ordering a queue after a command", [&] { follow(state_, {event.state_->event}); });
  return true;
}

void Queue::copy(void* to, const void* from, std::size_t nbytes) const {
  if (nbytes != 0) finish({submit_copy(to, from, nbytes)});
}

Event Queue::submit_copy(void* to, const void* from, std::size_t nbytes) const {
  if (nbytes == 0) return Event();
  return list(submit_memcpy(state_, to, from, nbytes));
}

Event Queue::begin_copy(void* to, const void* from, std::size_t nbytes) const {
  if (nbytes == 0) return Event();
  if (const auto last = copy_before(*state_, most_copies)) {
    wait_interruptibly([state = state_, last] {
      sycl_call("waiting for an earlier copy", [&] { look_at_commands(*state, true, last.get()); });
    });
  }
  std::shared_ptr<EventState> copy = submit_memcpy(state_, to, from, nbytes);
  sycl_call("submitting a barrier", [&] {
    const RuntimeCall call("submitting a barrier");
    copy->end = state_->queue.ext_oneapi_submit_barrier();
    state_->queue.ext_oneapi_prod();
    look_at_commands(*state_, false);
  });
  copy->goes_on = true;
  copy->target = static_cast<const std::byte*>(to);
  copy->nbytes = nbytes;
  return list(std::move(copy));
}

std::string Queue::failure_of_copies(const std::byte* data, std::size_t nbytes, bool told) const {
  std::string failure;
  if (!state_->errors) return failure;
  const std::lock_guard<Mutex> lock(AsyncErrors::mutex);
  for (const auto& copy : state_->errors->begun) {
    const bool counts_as_failed = copy->failures < state_->errors->failures;
    if (copy->is_done || (copy->failure.empty() && !counts_as_failed)) continue;
    if (copy->target >= data + nbytes || data >= copy->target + copy->nbytes) continue;
    if (copy->failure.empty()) copy->failure = state_->errors->failure;
    failure = copy->failure;
    if (told) copy->abandon();
  }
  return failure;
}

void Queue::fill_zero(void* to, std::size_t nbytes) const {
  if (nbytes == 0) return;
  finish({list(sycl_call("zeroing USM", [&] {
    return submit(state_, [&](sycl::queue& queue) { return queue.memset(to, 0, nbytes); });
  }))});
}

}  // namespace sycl_ext
