// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory/lifetime.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/fork.hpp"
#include "base/host.hpp"
#include "base/lock.hpp"
#include "runtime/devices/device_table.hpp"
#include "runtime/sycl/runtime_call.hpp"

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

// Beyond this depth, the background thread releases the owners, because recursion would overflow
// the stack.  Owners form chains: an owner may keep, through an object of another library, a block
// of this package, whose owner keeps the next block.  A loop of `t = as_tensor(t.to_numpy())` makes
// a chain of any length.
constexpr int deepest_release = 50;
thread_local int release_depth __attribute__((tls_model("initial-exec"))) = 0;

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

// Other code releases the owner with the GIL, and a thread that takes the GIL must hold no lock,
// nor be waited for by a thread with the GIL.  A thread that comes without it may be one of the
// runtime, in a host task; and it, or the runtime that this package calls, may hold the lock of a
// queue.
bool Lifetime::defers_owner() const noexcept {
  if (owner != BlockOwner::other_code || is_freeing()) return false;
  const Host* const python = host;
  return python && (is_in_runtime() || python->lacks_gil());
}

void Lifetime::end(std::unique_ptr<Lifetime> block) noexcept {
  const bool may_have_work = !block->awaited_queues().empty();  // by the counters
  if (may_have_work || block->use.is_untraced() || block->defers_owner() ||
      release_depth == deepest_release) {
    free_after_work(std::move(block));
    return;
  }
  ++release_depth;
  block.reset();
  --release_depth;
}

bool Lifetime::always_asks(const Queue& queue) const noexcept {
  if (own_queue && queue == own_queue) return true;
  if (!entry) return false;
  const std::initializer_list<const Queue*> always = {
      entry->fetched_queue(), entry->earlier_queue(), entry->made_commands()};
  return std::any_of(always.begin(), always.end(),
                     [&queue](const Queue* asked) { return asked && queue == *asked; });
}

void Lifetime::name_queue(const Queue& queue) const {
  fetch_queues();
  if (!always_asks(queue)) named_queues_.add(queue);
}

void Lifetime::replace_named_queues(const Queue& queue, std::uint64_t before) const {
  if (always_asks(queue)) {
    named_queues_.clear(use, before);
  } else {
    named_queues_.replace(queue, use, before);
  }
}

void Lifetime::expose() const {
  fetch_queues();
  use.expose();
}

void Lifetime::show_queue() const {
  fetch_queues();
  use.show_queue();
}

void Lifetime::fetch_queues() const {
  if (!entry || !entry->default_context) return;
  entry->queue();
  if (entry->kind == EntryKind::sub_device) entry_at(entry->root_id).queue();
}

QueueSet Lifetime::busy_queues(bool of_others) const noexcept {
  QueueSet set;
  const auto add = [&set](const Queue* queue) {
    if (queue && queue->work(How::counters) != Work::none) set.add(*queue);
  };
  if (entry) add(entry->made_commands());
  if (!of_others) return set;
  if (own_queue) add(&own_queue);
  set.add(named_queues_.list());
  if (!entry) return set;
  const auto add_shared = [&add](const Entry& shared_by_all) {
    add(shared_by_all.fetched_queue());
    add(shared_by_all.earlier_queue());
  };
  add_shared(*entry);
  add(entry->made_extension_queue());
  if (entry->kind == EntryKind::sub_device && entry->default_context) {
    add_shared(*find_entry(entry->root_id));
  }
  return set;
}

QueueSet Lifetime::queues_to_ask() const {
  if (asks_queues_of_others()) fetch_queues();
  return busy_queues();
}

void Lifetime::wait_for_queues(bool mark_reported) const {
  const std::uint64_t before = use.before_question();  // before the queues are chosen
  for (const Queue* queue : queues_to_ask()) {
    if (queue->work(How::ask) != Work::none) queue->wait();
  }
  const std::string failure = entry ? entry->failure_of_copies(data, nbytes, mark_reported) : "";
  // This package is not notified when borrowed memory is freed, and becomes another array's.
  const char* const where = is_ours() ? "" : ", or to an earlier array at its address,";
  if (!failure.empty()) {
    fail(Error::Kind::runtime, "a copy to this memory", where, " has failed: ", failure);
  }
  note_idle(before);
}

Work Lifetime::work(How how) const {
  const bool is_child = entry && is_forked_child();
  if (!is_child && busy_queues().empty()) return Work::none;
  if (how == How::counters || (is_child && !entry->is_cpu())) return Work::unknown;
  const std::uint64_t before = use.before_question();  // before the queues are chosen
  const Work answer = ask_queues(How::ask);
  if (answer == Work::none) note_idle(before);
  if (answer == Work::none || how == How::ask || is_child) return answer;
  // The larger question is not noted: an out-of-order queue of Level Zero counts as empty while
  // libsycl holds a command back.
  return ask_queues(how);
}

Work Lifetime::ask_queues(How how) const {
  for (const Queue* queue : queues_to_ask()) {
    const Work answer = queue->work(how);
    if (answer != Work::none) return answer;
  }
  if (!entry || entry->failure_of_copies(data, nbytes, /*mark_reported=*/false).empty())
    return Work::none;
  return Work::unknown;  // only a wait reports the failure of a copy
}

void Lifetime::note_idle(std::uint64_t before) const noexcept {
  use.seen_idle(before);
  named_queues_.clear(use, before);
}

}  // namespace sycl_ext
