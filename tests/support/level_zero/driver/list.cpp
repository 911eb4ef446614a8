#include "list.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>

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

List::List(bool synchronous, bool in_order) : synchronous_(synchronous), in_order_(in_order) {
  thread_ = std::thread([this] { run(); });
  std::lock_guard<std::mutex> lock(lists().mutex);
  lists().all.push_back(this);
}

List::~List() {
  {
    std::lock_guard<std::mutex> lock(lists().mutex);
    auto& all = lists().all;
    all.erase(std::remove(all.begin(), all.end(), this), all.end());
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

ze_result_t List::append(Command command) {
  if (faults().lost || faults().now()) return ZE_RESULT_ERROR_DEVICE_LOST;
  Pending pending{command.fence, std::move(command.waits), {}, command.signal, ++submitted};
  pending.fails = faults().next_command_fails.exchange(false);
  if (command.submit) pending.work = command.submit();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    pending_.push_back(std::move(pending));
    changed_.notify_all();
  }
  if (synchronous_) wait(kForEver);
  return ZE_RESULT_SUCCESS;
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
    const FailurePointer failure = carry_out(pending);
    lock.lock();
    busy_ = false;  // under the lock: a thread that waited for the last event finds the list idle
    if (pending.signal) pending.signal->set(failure);
    turns().leave(pending.number);
    changed_.notify_all();
  }
}

std::deque<List::Pending>::iterator List::next() {
  if (in_order_) return pending_.begin();
  const auto is_set = [](const SignalPointer& signal) { return signal->is_set(); };
  auto newest = pending_.end();
  for (auto command = pending_.begin(); command != pending_.end(); ++command) {
    const Fence fence = command->fence;
    const bool is_first = command == pending_.begin();
    const bool waits_for_earlier = fence == Fence::after_earlier || fence == Fence::both;
    if (std::all_of(command->waits.begin(), command->waits.end(), is_set) &&
        (is_first || !waits_for_earlier))
      newest = command;
    if (fence == Fence::before_later || fence == Fence::both) break;
  }
  return newest;
}

// The memory is let go before anybody is told that the command is done.
FailurePointer List::carry_out(Pending& pending) {
  for (const SignalPointer& signal : pending.waits) signal->wait(kForEver);
  turns().enter(pending.number);
  ++faults().running;
  pause();
  turns().await(pending.number);
  if (pending.fails || faults().lost) failure_->happen();
  const bool fails = failure_->untold();
  if (pending.work && !fails) pending.work();
  pending.work = nullptr;
  --faults().running;
  return fails ? failure_ : nullptr;
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

}  // namespace stand_in

using namespace stand_in;

ZE_API ze_result_t zeCommandListCreateImmediate(ze_context_handle_t, ze_device_handle_t,
                                                const ze_command_queue_desc_t* desc,
                                                ze_command_list_handle_t* out) {
  if (faults().lost) return ZE_RESULT_ERROR_DEVICE_LOST;
  if (faults().now()) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  *out =
      handle_of<ze_command_list_handle_t>(new List(desc->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS,
                                                   desc->flags & ZE_COMMAND_QUEUE_FLAG_IN_ORDER));
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeCommandListDestroy(ze_command_list_handle_t list) {
  delete &of<List>(list);
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeCommandListHostSynchronize(ze_command_list_handle_t handle,
                                                std::uint64_t timeout) {
  List& list = of<List>(handle);
  if (!list.wait(timeout)) return ZE_RESULT_NOT_READY;
  const bool waited = timeout >= (1ull << 60);
  const bool failed = list.failed(waited) || faults().lost;
  return failed ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_SUCCESS;
}

// Waits for all that a device was given; here: for everything.
ZE_API ze_result_t zeDeviceSynchronize(ze_device_handle_t) {
  wait_for_all_lists();
  return faults().lost ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_SUCCESS;
}
