// SPDX-License-Identifier: Apache-2.0
#include "runtime/deferred_free.hpp"

#include <atomic>
#include <condition_variable>
#include <list>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/lock.hpp"
#include "runtime/runtime_call.hpp"

namespace sycl_ext {

namespace {

// The pauses between two looks grow while nothing ends.
constexpr std::chrono::microseconds shortest_pause{50}, longest_pause{5000};

// A group behind so many gets no marker yet: libintelocl ends markers that wait for the same
// command by recursion, one in the other, and some 20,000 of them overflow the stack of its thread.
constexpr std::size_t most_groups = 256;

// Whether this is the thread that frees.  A deleter may run Python code, which may allocate: the
// thread would then wait for itself.
thread_local bool frees = false;

}  // namespace

// Objects that wait for the same queues, and arrived between two looks or while there were many
// groups, are a group.  Each of its queues gets a marker behind all of its work so far; when all
// markers are done, the group is freed.
class Reaper {
 public:
  void add(std::unique_ptr<Deferred> what) noexcept {
    const std::lock_guard<Mutex> lock(locks.deferred_frees);
    push(&fresh_, std::move(what));
    ++count_;
    if (!runs_) {
      try {
        std::thread([this] { run(); }).detach();
        runs_ = true;
      } catch (...) {  // the next one tries again
      }
    }
    if (sleeps_) changed_.notify_one();
  }

  std::size_t count() const noexcept { return count_; }

  void wait(std::chrono::nanoseconds timeout) {
    std::unique_lock<Mutex> lock(locks.deferred_frees);
    const std::uint64_t before = freed_;
    passed_.wait_for(lock, timeout, [&] { return freed_ != before || count_ == 0; });
  }

  void settle(std::chrono::milliseconds timeout) {
    std::unique_lock<Mutex> lock(locks.deferred_frees);
    const std::uint64_t look = looks_begun_ + (fresh_ ? 1 : 0);  // the one that meets the last
    if (looks_ended_ == look) return;
    urgent_ = true;
    changed_.notify_one();
    passed_.wait_for(lock, timeout, [&] { return looks_ended_ >= look; });
  }

 private:
  // Linked by the members themselves, newest first.
  using List = std::unique_ptr<Deferred>;
  static void push(List* list, std::unique_ptr<Deferred> one) noexcept {
    one->next_ = std::move(*list);
    *list = std::move(one);
  }
  static std::unique_ptr<Deferred> pop(List* list) noexcept {
    std::unique_ptr<Deferred> one = std::move(*list);
    if (one) *list = std::move(one->next_);
    return one;
  }

  struct Group {
    QueueSet queues;  // of its first member
    std::optional<std::vector<Event>> markers = std::nullopt;
    List members = nullptr;
  };

  void run() {
    frees = true;
    std::chrono::microseconds pause = shortest_pause;
    for (;;) {
      List fresh = next(pause);
      pause = fresh ? shortest_pause : std::min(2 * pause, longest_pause);
      while (std::unique_ptr<Deferred> one = pop(&fresh)) put(std::move(one));
      const std::uint64_t freed = free_those_done();
      const std::lock_guard<Mutex> lock(locks.deferred_frees);
      count_ -= freed;
      freed_ += freed;
      ++looks_ended_;
      passed_.notify_all();
    }
  }

  // Sleeps while there is nothing to do, and for a pause while work is pending.
  List next(std::chrono::microseconds pause) {
    // Objects that arrive in quick succession are handled together, and wake no thread.
    std::unique_lock<Mutex> lock(locks.deferred_frees);
    changed_.wait_for(lock, pause, [this] { return urgent_; });
    urgent_ = false;
    if (groups_.empty() && !fresh_) {
      sleeps_ = true;
      changed_.wait(lock, [this] { return fresh_ != nullptr; });
      sleeps_ = false;
    }
    ++looks_begun_;
    return std::move(fresh_);
  }

  // Puts it into its group, which has no marker yet.
  void put(std::unique_ptr<Deferred> one) noexcept {
    const QueueSet queues = one->awaited_queues();
    auto group = std::find_if(groups_.begin(), groups_.end(), [&](const Group& other) {
      return !other.markers && other.queues == queues;
    });
    if (group == groups_.end()) {
      try {
        group = groups_.insert(groups_.end(), Group{queues});
      } catch (...) {  // not enough memory now: the next look tries again
        const std::lock_guard<Mutex> lock(locks.deferred_frees);
        return push(&fresh_, std::move(one));
      }
    }
    push(&group->members, std::move(one));
  }

  // The next look tries again where a queue records a graph, in which a marker would be a node, or
  // the runtime fails.
  static void mark(Group* group) noexcept {
    try {
      std::vector<Event> markers;
      for (const Queue* queue : group->queues) {
        try {
          markers.push_back(queue->marker());
        } catch (const DeviceLost&) {
        }
      }
      group->markers = std::move(markers);
    } catch (...) {
    }
  }

  // No lock is held, because a deleter may be Python's.
  std::uint64_t free_those_done() noexcept {
    std::uint64_t freed = 0;
    for (auto group = groups_.begin(); group != groups_.end();) {
      // Earlier groups are not done, and a queue passes its markers in order.
      const bool is_behind = std::any_of(groups_.begin(), group, [&](const Group& before) {
        return before.queues == group->queues;
      });
      const bool is_late = is_behind && groups_.size() > most_groups;
      if (!group->markers && !is_late) mark(&*group);
      if (is_behind || !group->markers ||
          !std::all_of(group->markers->begin(), group->markers->end(),
                       [](const Event& marker) { return marker.is_done(); })) {
        ++group;
        continue;
      }
      List members = std::move(group->members);
      group = groups_.erase(group);
      while (pop(&members)) ++freed;
    }
    return freed;
  }

  std::condition_variable_any changed_, passed_;
  List fresh_;
  bool runs_ = false, sleeps_ = false, urgent_ = false;
  std::atomic<std::size_t> count_{0};
  std::uint64_t looks_begun_ = 0, looks_ended_ = 0, freed_ = 0;
  std::list<Group> groups_;  // of one look after the other; the thread's
};

namespace {

// A child does not have the thread, and the objects were the parent's to free.
PerProcess<Reaper> reapers;
Reaper& reaper() noexcept {
  return reapers.get([] { return Reaper(); });
}
[[maybe_unused]] Reaper& first_reaper = reaper();

}  // namespace

void free_after_work(std::unique_ptr<Deferred> what) noexcept {
  if (is_process_ending()) return static_cast<void>(what.release());
  reaper().add(std::move(what));
}

std::size_t deferred_frees() noexcept { return reaper().count(); }

bool is_freeing() noexcept { return frees; }

void settle_deferred_frees(std::chrono::milliseconds timeout) {
  if (!frees) reaper().settle(timeout);
}

void wait_for_deferred_free(std::chrono::nanoseconds timeout) { reaper().wait(timeout); }

}  // namespace sycl_ext
