// SPDX-License-Identifier: Apache-2.0
// Everything at once from eight threads: what TSan looks at.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

#include "base/lock.hpp"
#include "base/shared_work.hpp"
#include "check.hpp"
#include "dlpack/export.hpp"
#include "dlpack/import.hpp"
#include "settled.hpp"
#include "tensor/copy.hpp"

using namespace sycl_ext;

namespace {

template <class Work>
void in_threads(const Work& work) {
  std::atomic<int> waiting{8};
  std::vector<std::thread> threads;
  for (int number = 0; number < 8; ++number) {
    threads.emplace_back([&, number] {
      --waiting;
      while (waiting > 0) std::this_thread::yield();
      work(number);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

Tensor numbers(UsmKind kind, std::int64_t count, int value) {
  const Tensor tensor =
      make_tensor(default_entry(), kind, dtype_named("uint8"), read_layout(1, &count, Order::c, 1));
  const Tensor host = make_host_tensor(dtype_named("uint8"), tensor.layout);
  std::fill_n(host.data, count, static_cast<std::byte>(value));
  copy_elements(tensor, host);
  return tensor;
}

}  // namespace

TEST(threads_exchange) {
  const long live = settled_allocations(), exports = live_exports();
  {
    const Tensor shared = numbers(UsmKind::shared, 100000, 42);
    in_threads([&](int number) {
      for (int round = 0; round < 30; ++round) {
        const Tensor mine = numbers(static_cast<UsmKind>(round % 3), 3000, number);
        auto* managed = export_managed<DLManagedTensorVersioned>(shared, {shared.dl_device()});
        const Tensor view = import_managed(managed, {}).tensor;
        CHECK(copy_to_host(view).data[99999] == std::byte{42});
        CHECK(copy_to_host(mine).data[2999] == static_cast<std::byte>(number));
        if (round % 10 == 0) release_cached_memory();
      }
    });
  }
  CHECK(settled_allocations() == live && live_exports() == exports);
}

// The last view of each block goes in a thread that did not make it.
TEST(threads_drop_the_last_view) {
  const long live = settled_allocations();
  std::vector<DLManagedTensor*> exports;
  for (int i = 0; i < 400; ++i) {
    exports.push_back(
        export_managed<DLManagedTensor>(numbers(UsmKind::device, 100, i), {{kDLOneAPI, 0}}));
  }
  in_threads([&](int number) {
    for (std::size_t i = static_cast<std::size_t>(number); i < exports.size(); i += 8) {
      exports[i]->deleter(exports[i]);
    }
  });
  CHECK(settled_allocations() == live);
}

TEST(threads_ask_for_owners) {
  const Tensor usm = numbers(UsmKind::host, 5000, 1);
  std::vector<std::byte> plain(5000);
  in_threads([&](int) {
    for (int i = 0; i < 500; ++i) {
      UsmKind kind;
      CHECK(find_owner(usm.data + 64 * (i % 70), &kind) == &default_entry());
      CHECK(find_owner(plain.data() + 64 * (i % 70), &kind) == nullptr);
    }
  });
}

// A sub-device is one entry, independent of the first caller.
TEST(threads_cut_a_device) {
  std::atomic<int> failures{0};
  in_threads([&](int) {
    try {
      const auto sub_devices = create_sub_devices(default_entry(), {"equally", {1}});
      if (sub_devices != create_sub_devices(default_entry(), {"equally", {1}})) ++failures;
    } catch (const Error&) {  // a machine with one compute unit
    }
  });
  CHECK(failures == 0);
}

// A marker is in no list until somebody waits for it.
TEST(threads_wait_for_one_marker) {
  const Tensor tensor = numbers(UsmKind::device, 100000, 1);
  const Tensor host = make_host_tensor(dtype_named("uint8"), tensor.layout);
  const Queue& queue = default_entry().commands();
  queue.share();
  for (int round = 0; round < 20; ++round) {
    begin_copy(host, tensor);
    const Event marker = queue.marker();
    in_threads([&](int number) {
      if (number % 2 == 0) (void)marker.work(How::ask);
      wait_for_all({marker});
      CHECK(marker.work(How::ask) == Work::none);
    });
  }
}

// Each thread begins copies of its own, and all of them into one tensor; nobody waits but for the
// last.
TEST(threads_begin_copies) {
  const long live = settled_allocations();
  {
    const Tensor everybodys = numbers(UsmKind::device, 8 * 4000, 0);
    in_threads([&](int number) {
      const std::int64_t count = 4000;
      const Tensor row = make_view(everybodys, number * count, read_layout(1, &count, Order::c, 1));
      const Tensor source = numbers(UsmKind::host, count, number + 1);
      const Tensor host = make_host_tensor(dtype_named("uint8"), row.layout);
      for (int round = 0; round < 20; ++round) {
        begin_copy(row, source);
        begin_copy(host, row);
        const auto [to, copy] = begin_copy_to_host(row);
        if (round % 4 == 0) CHECK(copy_to_host(row).data[0] == static_cast<std::byte>(number + 1));
        wait_for_all({copy});
        CHECK(copy.work(How::ask) == Work::none);
        CHECK(to.data[count - 1] == static_cast<std::byte>(number + 1));
      }
      host.memory->wait_for_work();
      CHECK(host.data[count - 1] == static_cast<std::byte>(number + 1));
    });
  }
  for (int tries = 0; settled_allocations() != live && tries < 60000; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(settled_allocations() == live);
}

namespace {

// Whether a child that runs `body` ends well; a child that hangs does not.
template <class Body>
bool ends_well_in_a_child(const Body& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    body();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status == 0;
}

}  // namespace

// The fork holds no lock of a greater rank while it waits for one.
TEST(threads_take_locks_while_another_forks) {
  Mutex* last = nullptr;
  locks.for_each([&last](auto& lock) { last = &lock; });
  locks.for_each([last](auto& first) {
    std::atomic<bool> is_first_taken{false};
    std::thread other([&] {
      const std::lock_guard lock_first(first);
      is_first_taken = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the fork waits now, probably
      if (&first != last) std::lock_guard lock_last(*last);
    });
    while (!is_first_taken) std::this_thread::yield();
    CHECK(ends_well_in_a_child(
        [] { locks.for_each([](auto& lock) { const std::lock_guard guard(lock); }); }));
    other.join();
  });
}

// A child that is forked while another thread makes something has it, or makes it itself.
TEST(threads_make_once_while_another_forks) {
  static FirstMade<const int> number;
  std::atomic<bool> begins{false};
  const auto make = [&] {
    begins = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return 5;
  };
  std::thread other([&] { number.get_once(make); });
  while (!begins) std::this_thread::yield();
  CHECK(ends_well_in_a_child([&] {
    if (number.get_once(make) != 5) _exit(1);
  }));
  other.join();
}

// A driver that starts a program forks in a call that is made under a lock.
TEST(threads_fork_under_their_own_lock) {
  {
    const std::lock_guard lock(locks.making);
    CHECK(ends_well_in_a_child([] {}));
  }
  CHECK(ends_well_in_a_child([] { const std::lock_guard lock(locks.making); }));
}

TEST(threads_take_locks_in_the_order_of_their_ranks) {
  const auto take = [](auto& first, auto& then) {
    return ends_well_in_a_child([&] {
      close(STDERR_FILENO);
      const rlimit no_core{0, 0};
      setrlimit(RLIMIT_CORE, &no_core);
      const std::lock_guard lock_first(first);
      const std::lock_guard lock_then(then);
    });
  };
  CHECK(take(locks.async_errors, locks.pools));
  CHECK(!take(locks.pools, locks.async_errors) && !take(locks.making, locks.making));
}

TEST(threads_share_work) {
  const auto count = [](int number) {
    std::vector<int> done(37);
    share_work(4, done.size(), [&](std::size_t i) { done[i] += number; });
    return std::count(done.begin(), done.end(), number) == 37;
  };
  in_threads([&](int number) {
    for (int round = 0; round < 100; ++round) CHECK(count(number + 1));
  });
}
