// Entry points of events.
#include "event.hpp"

#include "answer.hpp"
#include "queue.hpp"

ur_event_handle_t_::ur_event_handle_t_(ur_queue_handle_t its_queue, ur_command_t its_command)
    : queue(its_queue), command(its_command), submitted_at(fakegpu::now()) {}

ur_event_handle_t_::~ur_event_handle_t_() = default;

ur_result_t ur_event_handle_t_::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  ended_.wait(lock, [this] { return done_.load(); });
  return outcome_;
}

void ur_event_handle_t_::when_done(std::function<void()> then) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!done_) {
      listeners_.push_back(std::move(then));
      return;
    }
  }
  then();
}

void ur_event_handle_t_::finish(ur_result_t outcome, uint64_t started) {
  std::vector<std::function<void()>> listeners;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    outcome_ = outcome;
    started_at = started;
    ended_at = fakegpu::now();
    done_ = true;
    listeners.swap(listeners_);
    ended_.notify_all();
  }
  for (auto& then : listeners) then();
}

namespace fakegpu {
namespace {

ur_event_status_t status(ur_event_handle_t event) {
  if (!event->is_done()) return UR_EVENT_STATUS_SUBMITTED;
  return event->wait() == UR_RESULT_SUCCESS ? UR_EVENT_STATUS_COMPLETE : UR_EVENT_STATUS_ERROR;
}

ur_result_t event_info(ur_event_handle_t event, ur_event_info_t name, size_t capacity, void* target,
                       size_t* size) {
  const Answer answer(capacity, target, size);
  switch (name) {
    case UR_EVENT_INFO_COMMAND_QUEUE:
      return answer.value(event->queue.get());
    case UR_EVENT_INFO_CONTEXT:
      return answer.value(event->queue->context.get());
    case UR_EVENT_INFO_COMMAND_TYPE:
      return answer.value(event->command);
    case UR_EVENT_INFO_COMMAND_EXECUTION_STATUS:
      return answer.value(status(event));
    case UR_EVENT_INFO_REFERENCE_COUNT:
      return answer.value<uint32_t>(event->references);
    default:
      return UR_RESULT_ERROR_UNSUPPORTED_ENUMERATION;
  }
}

ur_result_t event_profiling_info(ur_event_handle_t event, ur_profiling_info_t name, size_t capacity,
                                 void* target, size_t* size) {
  event->wait();
  const Answer answer(capacity, target, size);
  switch (name) {
    case UR_PROFILING_INFO_COMMAND_QUEUED:
    case UR_PROFILING_INFO_COMMAND_SUBMIT:
      return answer.value(event->submitted_at);
    case UR_PROFILING_INFO_COMMAND_START:
      return answer.value(event->started_at);
    case UR_PROFILING_INFO_COMMAND_END:
    case UR_PROFILING_INFO_COMMAND_COMPLETE:
      return answer.value(event->ended_at);
    default:
      return UR_RESULT_ERROR_UNSUPPORTED_ENUMERATION;
  }
}

ur_result_t event_wait(uint32_t count, const ur_event_handle_t* events) {
  ur_result_t first_failure = UR_RESULT_SUCCESS;
  for (uint32_t i = 0; i < count; ++i) {
    const ur_result_t outcome = events[i]->wait();
    if (outcome != UR_RESULT_SUCCESS) events[i]->is_told = true;
    if (first_failure == UR_RESULT_SUCCESS) first_failure = outcome;
  }
  return first_failure;
}

ur_result_t event_set_callback(ur_event_handle_t event, ur_execution_info_t,
                               ur_event_callback_t callback, void* data) {
  event->when_done([=] { callback(event, UR_EXECUTION_INFO_COMPLETE, data); });
  return UR_RESULT_SUCCESS;
}

}  // namespace

void fill_event_tables(ur_dditable_t& table) {
  table.Event.pfnGetInfo = event_info;
  table.Event.pfnGetProfilingInfo = event_profiling_info;
  table.Event.pfnWait = event_wait;
  table.Event.pfnRetain = retain;
  table.Event.pfnRelease = release;
  table.Event.pfnSetCallback = event_set_callback;
}

}  // namespace fakegpu
