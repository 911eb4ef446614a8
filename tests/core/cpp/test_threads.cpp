// SPDX-License-Identifier: Apache-2.0
// Everything at once from eight threads: what TSan looks at.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

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
  const Tensor tensor = make_tensor(default_entry(), kind, dtype_named("uint8"),
                                    compact_layout(1, &count, Order::c, 1));
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

// A sub-device is one entry, whoever asks first.
TEST(threads_cut_a_device) {
  std::atomic<int> failures{0};
  in_threads([&](int) {
    try {
      const auto parts = create_sub_devices(default_entry(), {Partition::Kind::equally, {1}, ""});
      if (parts != create_sub_devices(default_entry(), {Partition::Kind::equally, {1}, ""}))
        ++failures;
    } catch (const Error&) {  // a machine with one compute unit
    }
  });
  CHECK(failures == 0);
}

// Each thread begins copies of its own, and all of them into one tensor; nobody waits but for the
// last.
TEST(threads_begin_copies) {
  const long live = settled_allocations();
  {
    const Tensor everybodys = numbers(UsmKind::device, 8 * 4000, 0);
    in_threads([&](int number) {
      const std::int64_t count = 4000;
      const Tensor row =
          make_view(everybodys, number * count, compact_layout(1, &count, Order::c, 1));
      const Tensor source = numbers(UsmKind::host, count, number + 1);
      const Tensor host = make_host_tensor(dtype_named("uint8"), row.layout);
      for (int round = 0; round < 20; ++round) {
        begin_copy(row, source);
        begin_copy(host, row);
        const auto [to, copy] = begin_copy_to_host(row);
        if (round % 4 == 0) CHECK(copy_to_host(row).data[0] == static_cast<std::byte>(number + 1));
        copy->wait();
        CHECK(copy->is_done());
        CHECK(to.data[count - 1] == static_cast<std::byte>(number + 1));
      }
      synchronize(host);
      CHECK(host.data[count - 1] == static_cast<std::byte>(number + 1));
    });
  }
  while (pending_copies_now != 0) std::this_thread::yield();
  for (int tries = 0; settled_allocations() != live && tries < 60000; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(settled_allocations() == live);
}
