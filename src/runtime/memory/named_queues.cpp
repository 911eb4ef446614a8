// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory/named_queues.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/interpreter.hpp"
#include "base/lock.hpp"

namespace sycl_ext {

namespace {

// Whether a question to `named` also answers for `queue`. A queue that records a SYCL graph has no
// work of the consumer that named it while it recorded, so it does not stand for a queue that
// executes.
bool stands_for(const Queue& named, const Queue& queue) noexcept {
  return named == queue && (!named.recorded_at_first() || queue.recorded_at_first());
}

bool contains(const QueueList& list, const Queue& queue) noexcept {
  return list && std::any_of(list->begin(), list->end(),
                             [&queue](const Queue& named) { return stands_for(named, queue); });
}

QueueList with(const QueueList& list, const Queue& queue) {
  std::vector<Queue> queues = list ? *list : std::vector<Queue>();
  queues.push_back(queue);
  return std::make_shared<const std::vector<Queue>>(std::move(queues));
}

}  // namespace

QueueList NamedQueues::list() const noexcept {
  if (empty()) return nullptr;
  const std::lock_guard<Mutex> lock(locks.named_queues);
  return list_;
}

// Lists are made and dropped without the lock, because that calls the runtime.
void NamedQueues::add(const Queue& queue) {
  const Queue named = queue.for_work_from_now();
  for (;;) {
    QueueList known = list();
    if (contains(known, named)) return;
    QueueList longer = with(known, named);
    const std::lock_guard<Mutex> lock(locks.named_queues);
    if (list_ != known) continue;  // another thread was faster
    list_.swap(longer);
    is_empty_.store(false, std::memory_order_release);
    return;
  }
}

void NamedQueues::replace(const Queue& queue, const BlockUse& use, std::uint64_t before) {
  if (empty()) return;
  exchange_list(with(nullptr, queue.for_work_from_now()), use, before);
}

void NamedQueues::clear(const BlockUse& use, std::uint64_t before) noexcept {
  if (empty()) return;
  exchange_list(nullptr, use, before);
}

void NamedQueues::exchange_list(QueueList list, const BlockUse& use,
                                std::uint64_t before) noexcept {
  const WithoutGil released;
  QueueList replaced;  // is dropped without the lock and the GIL
  const std::lock_guard<Mutex> lock(locks.named_queues);
  if (!use.all_given_back(before)) return;
  is_empty_.store(list == nullptr, std::memory_order_release);
  replaced = std::exchange(list_, std::move(list));
}

}  // namespace sycl_ext
