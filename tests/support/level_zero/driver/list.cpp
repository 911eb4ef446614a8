#include "list.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>

#include "clock.hpp"
#include "faults.hpp"

namespace stand_in {
namespace {

constexpr long kStepUs = 100;

// A pause that ends at once when the delay is set to 0, or the device is lost.
void pause() {
  for (long slept = 0; slept < faults().delay_us && !faults().lost; slept += kStepUs)
    usleep(static_cast<useconds_t>(std::min(kStepUs, faults().delay_us - slept)));
}

// Of the commands that each list wants to run.
class Turns {
 public:
  void enter(std::uint64_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ready_.insert(number);
  }
  void await(std::uint64_t number) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return *ready_.rbegin() == number && !is_one_running_; });
    is_one_running_ = true;
  }
  void leave(std::uint64_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ready_.erase(number);
    is_one_running_ = false;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::uint64_t> ready_;
  bool is_one_running_ = false;
};

Turns& turns() {
  static auto* only = new Turns;
  return *only;
}

std::atomic<std::uint64_t> submitted{0};

struct Lists {
  std::mutex mutex;
  std::vector<List*> all;
};

Lists& lists() {
  static auto* only = new Lists;
  return *only;
}

}  // namespace

List::List(Kind kind, bool synchronous, bool in_order)
    : kind_(kind), synchronous_(synchronous), in_order_(in_order) {
  if (kind == Kind::immediate) thread_ = std::thread([this] { run(); });
  std::lock_guard<std::mutex> lock(lists().mutex);
  lists().all.push_back(this);
}

List::~List() {
  {
    std::lock_guard<std::mutex> lock(lists().mutex);
    auto& all = lists().all;
    all.erase(std::remove(all.begin(), all.end(), this), all.end());
  }
  if (!thread_.joinable()) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

ze_result_t List::append(Command command) {
  if (faults().lost || faults().now()) return ZE_RESULT_ERROR_DEVICE_LOST;
  if (kind_ == Kind::ordinary)
    recorded_.push_back(std::move(command));
  else
    submit(command);
  return ZE_RESULT_SUCCESS;
}

void List::execute(List& ordinary) {
  for (const Command& command : ordinary.recorded_) submit(command);
}

void List::submit(const Command& command) {
  Pending pending{command.fence, command.waits, {}, command.signal, ++submitted};
  pending.fails = faults().next_command_fails.exchange(false);
  if (command.submit) pending.work = command.submit();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    pending_.push_back(std::move(pending));
    changed_.notify_all();
  }
  if (synchronous_) wait(kForEver);
}

void List::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !pending_.empty(); });
    if (pending_.empty()) return;
    const auto chosen = next();
    if (chosen == pending_.end()) {
      changed_.wait_for(lock, std::chrono::microseconds(kStepUs));
      continue;
    }
    Pending pending = std::move(*chosen);
    pending_.erase(chosen);
    busy_ = true;
    lock.unlock();
    const Outcome outcome = carry_out(pending);
    lock.lock();
    busy_ = false;  // under the lock: a thread that waited for the last event finds the list idle
    if (pending.signal) pending.signal->set(outcome.failure, outcome.begin, outcome.end);
    turns().leave(pending.number);
    changed_.notify_all();
  }
}

std::deque<List::Pending>::iterator List::next() {
  if (in_order_) return pending_.begin();
  const auto is_set = [](const SignalPointer& signal) { return signal->is_set(); };
  auto newest = pending_.end();
  for (auto one = pending_.begin(); one != pending_.end(); ++one) {
    const Fence fence = one->fence;
    const bool is_first = one == pending_.begin();
    const bool waits_for_earlier = fence == Fence::after_earlier || fence == Fence::both;
    if (std::all_of(one->waits.begin(), one->waits.end(), is_set) &&
        (is_first || !waits_for_earlier))
      newest = one;
    if (fence == Fence::before_later || fence == Fence::both) break;
  }
  return newest;
}

// The memory is let go before anybody is told that the command is done.
List::Outcome List::carry_out(Pending& pending) {
  for (const SignalPointer& signal : pending.waits) signal->wait(kForEver);
  turns().enter(pending.number);
  ++faults().running;
  pause();
  turns().await(pending.number);
  const std::uint64_t begin = now_ns();
  if (pending.fails || faults().lost) failure_->happen();
  const bool fails = failure_->untold();
  if (pending.work && !fails) pending.work();
  pending.work = nullptr;
  --faults().running;
  return {fails ? failure_ : nullptr, begin, now_ns()};
}

bool List::wait(std::uint64_t nanoseconds) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto idle = [this] { return pending_.empty() && !busy_; };
  if (nanoseconds < (1ull << 60))
    return changed_.wait_for(lock, std::chrono::nanoseconds(nanoseconds), idle);
  changed_.wait(lock, idle);
  return true;
}

void wait_for_all_lists() {
  std::lock_guard<std::mutex> lock(lists().mutex);
  for (List* list : lists().all) list->wait(kForEver);
}

namespace {

template <class Handle>
ze_result_t create(List::Kind kind, bool synchronous, bool in_order, Handle* out) {
  if (faults().lost) return ZE_RESULT_ERROR_DEVICE_LOST;
  if (faults().now()) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  *out = handle_of<Handle>(new List(kind, synchronous, in_order));
  return ZE_RESULT_SUCCESS;
}

// An immediate command list and a command queue are one thing here, under two handles.
template <class Handle>
ze_result_t create_queue(const ze_command_queue_desc_t* desc, Handle* out) {
  return create(List::Kind::immediate, desc->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS,
                desc->flags & ZE_COMMAND_QUEUE_FLAG_IN_ORDER, out);
}

template <class Handle>
ze_result_t destroy(Handle handle) {
  delete &of<List>(handle);
  return ZE_RESULT_SUCCESS;
}

template <class Handle>
ze_result_t synchronize(Handle handle, std::uint64_t timeout) {
  List& list = of<List>(handle);
  if (!list.wait(timeout)) return ZE_RESULT_NOT_READY;
  const bool waited = timeout >= (1ull << 60);
  const bool failed = list.failed(waited) || faults().lost;
  return failed ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_SUCCESS;
}

}  // namespace
}  // namespace stand_in

using namespace stand_in;

// ---- command lists ---------------------------------------------------------------------------

ZE_API ze_result_t zeCommandListCreate(ze_context_handle_t, ze_device_handle_t,
                                       const ze_command_list_desc_t*,
                                       ze_command_list_handle_t* out) {
  return create(List::Kind::ordinary, false, true, out);
}

ZE_API ze_result_t zeCommandListCreateImmediate(ze_context_handle_t, ze_device_handle_t,
                                                const ze_command_queue_desc_t* desc,
                                                ze_command_list_handle_t* out) {
  return create_queue(desc, out);
}

ZE_API ze_result_t zeCommandListDestroy(ze_command_list_handle_t list) { return destroy(list); }

ZE_API ze_result_t zeCommandListClose(ze_command_list_handle_t) { return ZE_RESULT_SUCCESS; }

ZE_API ze_result_t zeCommandListReset(ze_command_list_handle_t list) {
  of<List>(list).clear();
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeCommandListHostSynchronize(ze_command_list_handle_t list,
                                                std::uint64_t timeout) {
  return synchronize(list, timeout);
}

ZE_API ze_result_t zeCommandListIsImmediate(ze_command_list_handle_t list, ze_bool_t* yes) {
  *yes = of<List>(list).is_immediate();
  return ZE_RESULT_SUCCESS;
}

// ---- command queues --------------------------------------------------------------------------

ZE_API ze_result_t zeCommandQueueCreate(ze_context_handle_t, ze_device_handle_t,
                                        const ze_command_queue_desc_t* desc,
                                        ze_command_queue_handle_t* out) {
  return create_queue(desc, out);
}

ZE_API ze_result_t zeCommandQueueDestroy(ze_command_queue_handle_t queue) { return destroy(queue); }

ZE_API ze_result_t zeCommandQueueExecuteCommandLists(ze_command_queue_handle_t queue,
                                                     std::uint32_t count,
                                                     ze_command_list_handle_t* lists,
                                                     ze_fence_handle_t fence) {
  for (std::uint32_t i = 0; i < count; ++i) of<List>(queue).execute(of<List>(lists[i]));
  if (fence) of<List>(queue).append({Fence::after_earlier, {}, {}, of<Event>(fence).to_signal()});
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeCommandQueueSynchronize(ze_command_queue_handle_t queue,
                                             std::uint64_t timeout) {
  return synchronize(queue, timeout);
}

// Waits for all that a device was given; here: for everything.
ZE_API ze_result_t zeDeviceSynchronize(ze_device_handle_t) {
  wait_for_all_lists();
  return faults().lost ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_SUCCESS;
}
