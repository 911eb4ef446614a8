// SPDX-License-Identifier: Apache-2.0
#include "runtime/deferred_free.hpp"

#include <atomic>
#include <condition_variable>
#include <iterator>
#include <list>
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

Mutex& mutex = *new Mutex(Rank::deferred_frees);

}  // namespace

// Objects that wait for the same queues, and arrived between two looks or while there were many
// groups, are a group.  Each of its queues gets a marker behind all of its work so far; when all
// markers are done, the group is freed.
class Reaper {
 public:
  void add(std::unique_ptr<Deferred> what) noexcept {
    const std::lock_guard<Mutex> lock(mutex);
    fresh_.push(what.release());
    ++count_;
    ++added_;
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

  bool wait(std::chrono::milliseconds timeout) {
    std::unique_lock<Mutex> lock(mutex);
    const std::uint64_t before = freed_;
    passed_.wait_for(lock, timeout, [&] { return freed_ != before || count_ == 0; });
    return freed_ != before;
  }

  void settle(std::chrono::milliseconds timeout) {
    std::unique_lock<Mutex> lock(mutex);
    const std::uint64_t added = added_;
    if (looked_at_ >= added) return;
    urgent_ = true;
    changed_.notify_one();
    passed_.wait_for(lock, timeout, [&] { return looked_at_ >= added; });
  }

 private:
  // Linked by the members themselves, oldest first.
  class List {
   public:
    bool empty() const noexcept { return !first_; }
    void push(Deferred* one) noexcept {
      one->next_ = nullptr;
      (last_ ? last_->next_ : first_) = one;
      last_ = one;
    }
    Deferred* pop() noexcept {
      Deferred* const one = first_;
      if (one) first_ = one->next_;
      if (!first_) last_ = nullptr;
      return one;
    }

   private:
    Deferred *first_ = nullptr, *last_ = nullptr;
  };

  struct Group {
    QueueSet queues;  // of its first member
    std::vector<Event> markers = {};
    bool is_marked = false;
    List members = {};
  };

  void run() {
    frees = true;
    std::chrono::microseconds pause = shortest_pause;
    for (;;) {
      List fresh = next(pause);
      pause = fresh.empty() ? std::min(2 * pause, longest_pause) : shortest_pause;
      std::uint64_t fresh_count = 0;
      for (; Deferred* const one = fresh.pop(); ++fresh_count) put(one);
      const std::uint64_t freed = free_those_done();
      const std::lock_guard<Mutex> lock(mutex);
      count_ -= freed;
      freed_ += freed;
      looked_at_ += fresh_count;
      passed_.notify_all();
    }
  }

  // Sleeps while there is nothing to do, and for a pause while work is pending.
  List next(std::chrono::microseconds pause) {
    // Objects that arrive in quick succession are handled together, and wake no thread.
    std::unique_lock<Mutex> lock(mutex);
    changed_.wait_for(lock, pause, [this] { return urgent_; });
    urgent_ = false;
    if (groups_.empty() && fresh_.empty()) {
      sleeps_ = true;
      changed_.wait(lock, [this] { return !fresh_.empty(); });
      sleeps_ = false;
    }
    return std::exchange(fresh_, {});
  }

  // Puts it into its group, which has no marker yet.
  void put(Deferred* one) noexcept {
    const QueueSet queues = one->awaited_queues();
    auto group = std::find_if(groups_.begin(), groups_.end(), [&](const Group& other) {
      return !other.is_marked && other.queues == queues;
    });
    if (group == groups_.end()) {
      try {
        group = groups_.insert(groups_.end(), Group{queues});
      } catch (...) {  // not enough memory now: the next look tries again
        const std::lock_guard<Mutex> lock(mutex);
        ++added_;
        return fresh_.push(one);
      }
    }
    group->members.push(one);
  }

  // False: a queue records a graph, where a marker would be a node, or the runtime fails: the next
  // look tries again.
  static bool mark(Group* group) noexcept {
    if (group->is_marked) return true;
    try {
      group->markers.clear();
      group->markers.reserve(QueueSet::capacity);
      for (const Queue* queue : group->queues) {
        try {
          group->markers.push_back(queue->marker());
        } catch (const DeviceLost&) {
        }
      }
      group->is_marked = true;
    } catch (...) {
    }
    return group->is_marked;
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
      if (is_late || !mark(&*group) || is_behind ||
          !std::all_of(group->markers.begin(), group->markers.end(),
                       [](const Event& marker) { return marker.is_done(); })) {
        ++group;
        continue;
      }
      List members = group->members;
      group = groups_.erase(group);
      for (; Deferred* const one = members.pop(); ++freed) delete one;
    }
    return freed;
  }

  std::condition_variable_any changed_, passed_;
  List fresh_;
  bool runs_ = false, sleeps_ = false, urgent_ = false;
  std::atomic<std::size_t> count_{0};
  std::uint64_t added_ = 0, looked_at_ = 0, freed_ = 0;
  std::list<Group> groups_;  // of one look after the other; the thread's
};

namespace {

// A child does not have the thread, and the objects were the parent's to free.  Never destroyed:
// blocks are dropped after the static destructors.
PerProcess<Reaper>& reaper = *new PerProcess<Reaper>;

}  // namespace

void free_after_work(std::unique_ptr<Deferred> what) noexcept {
  if (is_process_ending()) return static_cast<void>(what.release());
  reaper->add(std::move(what));
}

std::size_t deferred_frees() noexcept { return reaper->count(); }

bool is_freeing() noexcept { return frees; }

void settle_deferred_frees(std::chrono::milliseconds timeout) {
  if (!frees) reaper->settle(timeout);
}

bool wait_for_deferred_free(std::chrono::milliseconds timeout) { return reaper->wait(timeout); }

}  // namespace sycl_ext
