// SPDX-License-Identifier: Apache-2.0
#include "queue.hpp"

#include "forked.hpp"
#include "interruptible.hpp"
#include "sycl_handles.hpp"

namespace sycl_ext {

namespace {

std::shared_ptr<QueueState> state_of(const sycl::queue& queue) {
  return std::shared_ptr<QueueState>(
      new QueueState{queue, queue.is_in_order(), {true}, {0}, {0}, nullptr});
}

bool is_cpu(const QueueState& state) { return state.queue.get_device().is_cpu(); }

// Counts a submission when it is over, whether or not it succeeded.  (Counted before, a thread that
// finds the queue empty in between would take it for done.)
class Submission {
 public:
  explicit Submission(const QueueState& state) : state_(state) {
    require_not_forked([&] { return is_cpu(state); });
  }
  ~Submission() { ++state_.submitted; }
  Submission(const Submission&) = delete;
  Submission& operator=(const Submission&) = delete;

 private:
  const QueueState& state_;
};

// Has the asynchronous errors of the queue delivered to our handler; a stranger's queue keeps its
// own.  Whether there are any that nobody has been told of.
bool collect_errors(QueueState& state) {
  if (!state.errors) return false;
  state.queue.throw_asynchronous();
  return state.errors->any;
}

void wait_until_done(QueueState& state) {
  const std::uint64_t submitted = state.submitted;
  sycl_call("waiting for a queue", [&] {
    state.queue.wait();
    collect_errors(state);
  });
  state.done = submitted;
}

void raise_pending(const QueueState& state) {
  if (!state.errors) return;
  std::string text;
  {
    std::lock_guard<std::mutex> lock(state.errors->mutex);
    text.swap(state.errors->first);
    state.errors->any = false;
  }
  if (!text.empty()) {
    fail(Error::Kind::runtime, "work submitted earlier to this queue failed: ", text);
  }
}

}  // namespace

std::shared_ptr<QueueState> make_queue(const sycl::context& context, const sycl::device& device) {
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
      std::lock_guard<std::mutex> lock(errors->mutex);
      if (errors->first.empty()) errors->first = text;
      errors->any = true;
    }
  };
  return sycl_call("creating a queue", [&] {
    sycl::queue queue(context, device, handler, {sycl::property::queue::in_order{}});
    return std::shared_ptr<QueueState>(
        new QueueState{std::move(queue), true, {false}, {0}, {0}, std::move(errors)});
  });
}

void Event::wait() const {
  if (!state_) return;
  const auto done = [this] {
    try {
      return state_->event.get_info<sycl::info::event::command_execution_status>() ==
             sycl::info::event_command_status::complete;
    } catch (...) {
      return true;  // the wait says what is wrong
    }
  };
  wait_interruptibly(
      done, [state = state_] { sycl_call("waiting for a copy", [&] { state->event.wait(); }); });
}

Queue Queue::from_address(const void* address) {
  return sycl_call("reading a queue",
                   [&] { return Queue(state_of(*static_cast<const sycl::queue*>(address))); });
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
  share();
  return new sycl::queue(state_->queue);
}

void Queue::delete_reference(void* reference) noexcept {
  delete static_cast<sycl::queue*>(reference);
}

bool Queue::is_busy() const noexcept {
  if (!state_->may_have_work()) return false;
  try {
    if (forked && !is_cpu(*state_)) return false;  // it was the parent's
    const std::uint64_t submitted = state_->submitted;
    if (!state_->queue.ext_oneapi_empty()) return true;
    state_->done = submitted;
    return false;
  } catch (...) {
    return true;  // wait() says what is wrong
  }
}

bool Queue::has_pending_work() const noexcept {
  const bool used = state_->may_have_work();
  if (is_busy()) return true;
  try {
    // A command that has ended may have left an error behind.
    return used && collect_errors(*state_);
  } catch (...) {
    return true;
  }
}

void Queue::wait() const {
  if (!state_->may_have_work()) return;
  wait_interruptibly([this] { return !has_pending_work(); },
                     [state = state_] { wait_until_done(*state); });
  raise_pending(*state_);
}

void Queue::wait_noexcept() const noexcept {
  try {
    // An error that is kept is not for the caller, who frees memory: the next wait() raises it.
    if (is_busy()) wait_until_done(*state_);
  } catch (...) {
  }
}

void Queue::outlive_work(std::shared_ptr<const void> what) const noexcept {
  try {
    if (gave_up() && is_busy()) {
      return run_aside([queue = *this, what = std::move(what)] { queue.wait_noexcept(); });
    }
  } catch (...) {  // there is no thread to be had
  }
  wait_noexcept();
}

bool Queue::order_after(const Queue& producer) const {
  if (!producer.has_pending_work()) return true;
  if (*this == producer && in_order()) return true;
  if (!in_order() || !same_context(producer)) {
    producer.wait();
    return false;
  }
  sycl_call("ordering one queue after another", [&] {
    sycl::event done = producer.state_->queue.ext_oneapi_submit_barrier();
    const Submission counted(*state_);
    state_->queue.ext_oneapi_submit_barrier({done});
  });
  return true;
}

void Queue::copy(void* to, const void* from, std::size_t nbytes) const {
  submit_copy(to, from, nbytes);
  wait();
}

Event Queue::submit_copy(void* to, const void* from, std::size_t nbytes) const {
  if (nbytes == 0) return Event();
  const Submission counted(*state_);
  return sycl_call("copying USM", [&] {
    return Event(std::make_shared<EventState>(EventState{state_->queue.memcpy(to, from, nbytes)}));
  });
}

void Queue::fill_zero(void* to, std::size_t nbytes) const {
  if (nbytes == 0) return;
  sycl_call("zeroing USM", [&] {
    const Submission counted(*state_);
    state_->queue.memset(to, 0, nbytes);
  });
  wait();
}

}  // namespace sycl_ext
