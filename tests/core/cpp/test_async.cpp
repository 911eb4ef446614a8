// SPDX-License-Identifier: Apache-2.0
// Asynchronous errors: never the end of the process, and raised by the next call that waits for the
// queue of the tensor, also when the command that failed was a third party's and is long over.
#include <atomic>
#include <stdexcept>
#include <sycl/handler.hpp>
#include <thread>

#include "check.hpp"
#include "runtime/devices/device_table.hpp"
#include "runtime/devices/entry_handles.hpp"
#include "runtime/sycl/commands.hpp"
#include "tensor/copy.hpp"

using namespace sycl_ext;

namespace {

Tensor numbers() {
  const std::int64_t shape[] = {100};
  const Tensor tensor = make_tensor(default_entry(), UsmKind::shared, dtype_named("uint8"),
                                    read_layout(1, shape, Order::c, 1));
  fill_zero(tensor);
  return tensor;
}

Queue new_queue() {
  return Queue(make_queue(default_entry().sycl->context, default_entry().sycl->device));
}

Tensor numbers_on(const Queue& queue) {
  const std::int64_t shape[] = {100};
  return make_tensor(default_entry(), UsmKind::shared, dtype_named("uint8"),
                     read_layout(1, shape, Order::c, 1), queue);
}

// The work of another library on a queue that it was handed.
void submit_a_failure(sycl::queue theirs) {
  theirs.submit([](sycl::handler& handler) {
    handler.host_task([] { throw std::runtime_error("another library's task failed"); });
  });
  while (!theirs.ext_oneapi_empty()) std::this_thread::yield();
}

void submit_a_failure(const Tensor& tensor) {
  tensor.memory->expose();
  submit_a_failure(*static_cast<const sycl::queue*>(tensor.memory->queue().share()));
}

}  // namespace

TEST(async_error_of_a_command_that_is_over) {
  const Tensor tensor = numbers();
  submit_a_failure(tensor);
  CHECK_FAILS(runtime, "another library's task failed", tensor.memory->wait_for_work());
  tensor.memory->wait_for_work();
  CHECK(copy_to_host(tensor).data[99] == std::byte{0});
}

TEST(async_error_of_a_copy) {
  const Tensor tensor = numbers();
  submit_a_failure(tensor);
  CHECK_FAILS(runtime, "another library's task failed", copy_to_host(tensor));
  CHECK(copy_to_host(tensor).data[99] == std::byte{0});
}

// A thread that frees memory cannot report an error, and leaves it to the next wait.
TEST(async_error_outlives_a_deleter) {
  const Tensor tensor = numbers();
  submit_a_failure(tensor);
  numbers().memory.reset();
  allocate(default_entry(), UsmKind::device, 100).reset();
  CHECK_FAILS(runtime, "another library's task failed", tensor.memory->wait_for_work());
}

TEST(async_error_in_a_queue_of_the_tensors_own) {
  const Queue queue = new_queue();
  const Tensor tensor = numbers_on(queue);
  submit_a_failure(tensor);
  CHECK_FAILS(runtime, "another library's task failed", tensor.memory->wait_for_work());
  tensor.memory->wait_for_work();
}

TEST(async_errors_of_several_commands_are_one) {
  const Tensor tensor = numbers();
  submit_a_failure(tensor);
  submit_a_failure(tensor);
  CHECK_FAILS(runtime, "another library's task failed", tensor.memory->wait_for_work());
  tensor.memory->wait_for_work();
  tensor.memory->queue().wait();  // whatever it asks
}

// The copy itself is right: the error is of the work before it.
TEST(async_error_is_told_at_the_end_of_a_copy_on_the_queue) {
  const Queue queue = new_queue();
  const Tensor tensor = numbers_on(queue);
  submit_a_failure(*static_cast<const sycl::queue*>(queue.share()));
  CHECK(collect_errors(queue.state()));  // it was seen before the copy is submitted
  CHECK_FAILS(runtime, "another library's task failed",
              queue.copy(tensor.data, tensor.data + 50, 50));
  queue.copy(tensor.data, tensor.data + 50, 50);
}

// A command that nobody waited for, such as that of an interrupted wait, is queried once.
TEST(a_queue_is_at_rest_after_an_event_that_was_dropped) {
  const Queue queue = new_queue();
  const Tensor tensor = numbers_on(queue);
  CHECK(queue.work(How::counters) == Work::none);
  queue.submit_copy(tensor.data, tensor.data + 50, 50);
  CHECK(queue.work(How::counters) == Work::unknown);
  while (!static_cast<const QueueState&>(queue.state()).queue.ext_oneapi_empty()) {
    std::this_thread::yield();
  }
  tensor.memory->wait_for_work();
  CHECK(queue.work(How::counters) == Work::none);
}

// A wait knows of the commands of before it.  One that another thread begins and drops meanwhile
// still counts.
TEST(a_command_dropped_during_a_wait_still_counts) {
  const std::shared_ptr<QueueState> state =
      make_queue(default_entry().sycl->context, default_entry().sycl->device);
  const Queue queue(state);
  static std::atomic<bool> is_open{false};
  submit(state, [](sycl::queue& sycl_queue) {
    return sycl_queue.submit([](sycl::handler& handler) {
      handler.host_task([] {
        while (!is_open) std::this_thread::yield();
      });
    });
  });
  std::thread waiter([&] { queue.wait(); });
  while (state->pending == 0) std::this_thread::yield();  // the marker that it waits for
  // The runtime takes no work from this thread while the other one waits behind a host task.
  std::make_shared<EventState>(sycl::event(), state).reset();
  is_open = true;
  waiter.join();
  CHECK(queue.work(How::counters) == Work::unknown);
  queue.wait();
  CHECK(queue.work(How::counters) == Work::none);
}
