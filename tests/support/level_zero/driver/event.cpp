#include "event.hpp"

#include <chrono>

#include "faults.hpp"

namespace stand_in {

// Longer than any real time-out, and the clock would overflow.
constexpr std::uint64_t kLong = 1ull << 60;

void Signal::set(FailurePointer failure) {
  std::lock_guard<std::mutex> lock(mutex_);
  done_ = true;
  failure_ = std::move(failure);
  changed_.notify_all();
}

void Signal::reset() {
  std::lock_guard<std::mutex> lock(mutex_);
  done_ = false;
  failure_ = nullptr;
}

bool Signal::is_set() {
  std::lock_guard<std::mutex> lock(mutex_);
  return done_;
}

bool Signal::wait(std::uint64_t nanoseconds) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto done = [this] { return done_; };
  if (nanoseconds < kLong)
    return changed_.wait_for(lock, std::chrono::nanoseconds(nanoseconds), done);
  changed_.wait(lock, done);
  return true;
}

bool Signal::failed(bool tell) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!failure_) return false;
  return tell ? failure_->tell() : failure_->untold();
}

Event::Event(bool counter_based)
    : counter_based_(counter_based), signal_(std::make_shared<Signal>(counter_based)) {}

SignalPointer Event::current() {
  std::lock_guard<std::mutex> lock(mutex_);
  return signal_;
}

SignalPointer Event::to_signal() {
  std::lock_guard<std::mutex> lock(mutex_);
  if (counter_based_) signal_ = std::make_shared<Signal>(false);
  return signal_;
}

std::vector<SignalPointer> signals_of(std::uint32_t count, ze_event_handle_t* events) {
  std::vector<SignalPointer> all;
  for (std::uint32_t i = 0; i < count; ++i) all.push_back(of<Event>(events[i]).current());
  return all;
}

SignalPointer signal_for(ze_event_handle_t event) {
  return event ? of<Event>(event).to_signal() : nullptr;
}

namespace {

struct Pool : Object {
  bool counter_based = false;
};

ze_result_t wait(Event& event, std::uint64_t nanoseconds) {
  const SignalPointer signal = event.current();
  if (nanoseconds < kLong && faults().queries_fail) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  if (!signal->wait(nanoseconds)) return ZE_RESULT_NOT_READY;
  const bool failed = signal->failed(nanoseconds >= kLong) || faults().lost;
  return failed ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_SUCCESS;
}

}  // namespace
}  // namespace stand_in

using namespace stand_in;

// ---- pools -----------------------------------------------------------------------------------

ZE_API ze_result_t zeEventPoolCreate(ze_context_handle_t, const ze_event_pool_desc_t* desc,
                                     std::uint32_t, ze_device_handle_t*,
                                     ze_event_pool_handle_t* out) {
  auto* pool = new Pool;
  for (const ze_base_desc_t* next = desc->pNext; next; next = next->pNext)
    if (next->stype == ZE_STRUCTURE_TYPE_COUNTER_BASED_EVENT_POOL_EXP_DESC)
      pool->counter_based = true;
  *out = handle_of<ze_event_pool_handle_t>(pool);
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeEventPoolDestroy(ze_event_pool_handle_t pool) {
  delete &of<Pool>(pool);
  return ZE_RESULT_SUCCESS;
}

// ---- events ----------------------------------------------------------------------------------

ZE_API ze_result_t zeEventCreate(ze_event_pool_handle_t pool, const ze_event_desc_t*,
                                 ze_event_handle_t* out) {
  *out = handle_of<ze_event_handle_t>(new Event(of<Pool>(pool).counter_based));
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeEventDestroy(ze_event_handle_t event) {
  delete &of<Event>(event);
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeEventHostSignal(ze_event_handle_t event) {
  of<Event>(event).current()->set();
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeEventHostReset(ze_event_handle_t event) {
  of<Event>(event).current()->reset();
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeEventHostSynchronize(ze_event_handle_t event, std::uint64_t timeout) {
  return wait(of<Event>(event), timeout);
}

ZE_API ze_result_t zeEventQueryStatus(ze_event_handle_t event) { return wait(of<Event>(event), 0); }
