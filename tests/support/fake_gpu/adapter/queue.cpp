// Scheduling, and the entry points of queues.
#include "queue.hpp"

#include <algorithm>

#include "answer.hpp"
#include "control.hpp"

namespace fakegpu {

bool Command::is_ready() const {
  const auto done = [](const EventRef& event) { return event->is_done(); };
  return std::all_of(inputs.begin(), inputs.end(), done) &&
         std::all_of(before.begin(), before.end(), done);
}

void Command::run() {
  const uint64_t started = now();
  ur_result_t outcome = fails ? UR_RESULT_ERROR_DEVICE_LOST : earlier_failure;
  for (const EventRef& input : inputs) {
    if (input->wait() != UR_RESULT_SUCCESS) outcome = UR_RESULT_ERROR_IN_EVENT_LIST_EXEC_STATUS;
  }
  if (outcome == UR_RESULT_SUCCESS) work();
  event->finish(outcome, started);
}

}  // namespace fakegpu

using fakegpu::Command;
using fakegpu::EventRef;
using fakegpu::Fence;

ur_queue_handle_t_::ur_queue_handle_t_(ur_context_handle_t its_context,
                                       ur_device_handle_t its_device, ur_queue_flags_t its_flags)
    : context(its_context),
      device(its_device),
      flags(its_flags),
      in_order_(!(its_flags & UR_QUEUE_FLAG_OUT_OF_ORDER_EXEC_MODE_ENABLE)) {
  thread_ = std::thread([this] { work_until_closed(); });
}

ur_result_t ur_queue_handle_t_::submit(ur_command_t kind, Fence fence, fakegpu::WaitList waits,
                                       ur_event_handle_t* out, std::function<void()> work) {
  if (fakegpu::fails_now()) return UR_RESULT_ERROR_DEVICE_LOST;
  const EventRef event = EventRef::adopt(new ur_event_handle_t_(this, kind));
  Command command;
  command.event = event;
  command.work = std::move(work);
  command.fails = fakegpu::take_async_error();
  for (uint32_t i = 0; i < waits.count; ++i) command.inputs.emplace_back(waits.events[i]);
  command.is_fence = fence != Fence::none && command.inputs.empty();
  const std::vector<EventRef> inputs = command.inputs;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!in_order_) order(command, fence);
    pending_.push_back(std::move(command));
  }
  changed_.notify_all();
  const fakegpu::Ref<ur_queue_handle_t_> self(this);
  for (const EventRef& input : inputs) {
    input->when_done([self] {
      // The lock is what keeps the thread from missing this between its look and its sleep.
      {
        std::lock_guard<std::mutex> lock(self->mutex_);
      }
      self->changed_.notify_all();
    });
  }
  if (out) {
    fakegpu::retain(event.get());
    *out = event.get();
  }
  return UR_RESULT_SUCCESS;
}

void ur_queue_handle_t_::order(Command& command, Fence fence) {
  if (last_barrier_ && !last_barrier_->is_done()) command.before.push_back(last_barrier_);
  if (fence != Fence::none && command.inputs.empty()) {
    if (running_) command.before.push_back(running_);
    for (const Command& earlier : pending_) command.before.push_back(earlier.event);
  }
  if (fence == Fence::barrier) last_barrier_ = command.event;
}

ur_queue_handle_t_::Pending::iterator ur_queue_handle_t_::next_command() {
  if (in_order_) {
    const bool ready = !pending_.empty() && pending_.front().is_ready();
    return ready ? pending_.begin() : pending_.end();
  }
  for (auto newest = pending_.end(); newest != pending_.begin();) {
    if ((--newest)->is_ready()) return newest;
  }
  return pending_.end();
}

void ur_queue_handle_t_::work_until_closed() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] {
      return next_command() != pending_.end() || (closing_ && pending_.empty());
    });
    if (pending_.empty()) return;

    lock.unlock();
    fakegpu::pause_before_command();
    lock.lock();

    const auto next = next_command();  // another one, maybe: more was submitted meanwhile
    Command command = std::move(*next);
    pending_.erase(next);
    running_ = command.event;
    if (command.is_fence) {
      command.earlier_failure = take_failure();
    }
    lock.unlock();
    command.run();
    const ur_result_t outcome = command.event->wait();
    const EventRef ended = command.event;
    command = Command();  // lets go of events while nothing is locked
    lock.lock();
    running_ = EventRef();
    if (outcome != UR_RESULT_SUCCESS && !first_failed_) first_failed_ = ended;
    if (pending_.empty()) idle_.notify_all();
  }
}

bool ur_queue_handle_t_::is_empty() {
  std::lock_guard<std::mutex> lock(mutex_);
  // Whoever has waited for the last event finds the queue empty; a failure is still to be told.
  return pending_.empty() && (!running_ || running_->has_succeeded());
}

ur_result_t ur_queue_handle_t_::finish() {
  std::unique_lock<std::mutex> lock(mutex_);
  idle_.wait(lock, [this] { return pending_.empty() && !running_; });
  return take_failure();
}

ur_result_t ur_queue_handle_t_::take_failure() {
  const EventRef failed = std::exchange(first_failed_, EventRef());
  return failed && !failed->is_told ? failed->wait() : UR_RESULT_SUCCESS;
}

void ur_queue_handle_t_::close() {
  finish();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    closing_ = true;
    last_barrier_ = first_failed_ = EventRef();  // an event holds its queue: let the circle go
  }
  changed_.notify_all();
  thread_.join();
}

namespace fakegpu {
namespace {

ur_result_t queue_create(ur_context_handle_t context, ur_device_handle_t device,
                         const ur_queue_properties_t* properties, ur_queue_handle_t* out) {
  if (fails_now()) return UR_RESULT_ERROR_OUT_OF_RESOURCES;
  if (!context->reaches(device)) return UR_RESULT_ERROR_INVALID_DEVICE;
  *out = new ur_queue_handle_t_(context, device, properties ? properties->flags : 0);
  return UR_RESULT_SUCCESS;
}

ur_result_t queue_retain(ur_queue_handle_t queue) {
  ++queue->users;
  return UR_RESULT_SUCCESS;
}

// Waits for the queue's commands when the last user goes, as Level Zero does.
ur_result_t queue_release(ur_queue_handle_t queue) {
  if (--queue->users > 0) return UR_RESULT_SUCCESS;
  queue->close();
  return release(queue);
}

ur_result_t queue_info(ur_queue_handle_t queue, ur_queue_info_t name, size_t capacity, void* target,
                       size_t* size) {
  const Answer answer(capacity, target, size);
  switch (name) {
    case UR_QUEUE_INFO_CONTEXT:
      return answer.value(queue->context.get());
    case UR_QUEUE_INFO_DEVICE:
      return answer.value(queue->device);
    case UR_QUEUE_INFO_FLAGS:
      return answer.value(queue->flags);
    case UR_QUEUE_INFO_REFERENCE_COUNT:
      return answer.value<uint32_t>(queue->users);
    case UR_QUEUE_INFO_EMPTY:
      return answer.value<ur_bool_t>(queue->is_empty());
    default:
      return UR_RESULT_ERROR_UNSUPPORTED_ENUMERATION;
  }
}

ur_result_t queue_finish(ur_queue_handle_t queue) { return queue->finish(); }

ur_result_t queue_flush(ur_queue_handle_t) { return UR_RESULT_SUCCESS; }

ur_result_t queue_native_handle(ur_queue_handle_t queue, ur_queue_native_desc_t*,
                                ur_native_handle_t* out) {
  return native_handle(queue, out);
}

}  // namespace

void fill_queue_tables(ur_dditable_t& table) {
  table.Queue.pfnCreate = queue_create;
  table.Queue.pfnRetain = queue_retain;
  table.Queue.pfnRelease = queue_release;
  table.Queue.pfnGetInfo = queue_info;
  table.Queue.pfnFinish = queue_finish;
  table.Queue.pfnFlush = queue_flush;
  table.Queue.pfnGetNativeHandle = queue_native_handle;
}

}  // namespace fakegpu
