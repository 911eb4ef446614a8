// SPDX-License-Identifier: Apache-2.0
// The runtime does not answer whether work is done: the memory is kept, unless the device is lost.
#include <atomic>
#include <chrono>
#include <memory>
#include <sycl/handler.hpp>
#include <thread>

#include "check.hpp"
#include "gate.hpp"
#include "runtime/devices/device_table.hpp"
#include "runtime/devices/entry_handles.hpp"
#include "runtime/memory/reaper.hpp"
#include "runtime/memory/usm.hpp"
#include "runtime/sycl/commands.hpp"
#include "runtime/sycl/handles.hpp"
#include "settled.hpp"

using namespace sycl_ext;

namespace {

// A queue with a command that ends when this does.
class Held {
 public:
  Held() {
    sycl::queue theirs = *static_cast<const sycl::queue*>(queue.share());
    theirs.submit([this](sycl::handler& handler) {
      handler.host_task([this] {
        while (!is_over_) std::this_thread::yield();
      });
    });
  }
  ~Held() {
    is_over_ = true;
    queue.wait();
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

  const Queue queue{make_queue(default_entry().sycl->context, default_entry().sycl->device)};

 private:
  std::atomic<bool> is_over_{false};
};

// An object for the thread that frees, whose call number `fail_at` of the runtime then fails.
class Watched final : public Deferred {
 public:
  Watched(const Queue& queue, std::atomic<bool>* is_freed, long fail_at, bool is_lost)
      : queue_(queue), is_freed_(is_freed), fail_at_(fail_at), is_lost_(is_lost) {}
  ~Watched() override {
    runtime = {};
    *is_freed_ = true;
  }
  QueueSet awaited_queues() const noexcept override {
    runtime = {0, fail_at_};
    device_is_lost = is_lost_;
    QueueSet set;
    set.add(queue_);
    return set;
  }

 private:
  const Queue queue_;
  std::atomic<bool>* const is_freed_;
  const long fail_at_;
  const bool is_lost_;
};

bool is_freed_at_the_first_look(long fail_at, bool is_lost) {
  std::atomic<bool> is_freed{false};
  bool at_once = false;
  {
    const Held held;
    free_after_work(std::make_unique<Watched>(held.queue, &is_freed, fail_at, is_lost));
    flush_deferred_frees(std::chrono::minutes(1));
    at_once = is_freed;
  }
  wait_for_deferred_frees();
  CHECK(is_freed);
  return at_once;
}

}  // namespace

TEST(memory_is_kept_while_the_runtime_does_not_answer) {
  for (long number = 1; number <= 8; ++number) CHECK(!is_freed_at_the_first_look(number, false));
  CHECK(!is_freed_at_the_first_look(1, true));  // a lost device says so each time
}

// The gate counts the calls of this thread.
TEST(thread_that_drops_a_block_asks_nothing) {
  Memory lent = allocate(default_entry(), UsmKind::device, 100);
  lent->show_queue();
  lent->use.take_queue_back();
  CHECK(lent->use.state() == BlockUse::State::returned);
  const Queue other{make_queue(default_entry().sycl->context, default_entry().sycl->device)};
  Memory on_own_queue =
      allocate(default_entry(), UsmKind::device, 100, Queue::from_address(other.share()));
  runtime = {};
  lent.reset();
  on_own_queue.reset();
  CHECK(runtime.calls == 0);
  wait_for_deferred_frees();
}

TEST(only_a_lost_device_ends_a_command_that_cannot_be_asked) {
  const Held held;
  const Event marker = held.queue.marker();
  for (const bool is_lost : {false, true, false}) {
    device_is_lost = is_lost;
    runtime = {0, 1};
    CHECK((marker.work(How::ask) == Work::none) == is_lost && runtime.calls > 0);
  }
  runtime = {};
  CHECK(marker.work(How::ask) != Work::none);
}
