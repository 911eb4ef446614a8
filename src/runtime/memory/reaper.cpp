// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory/reaper.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "base/first_made.hpp"
#include "base/host.hpp"
#include "base/lock.hpp"
#include "base/thread.hpp"
#include "base/waiting.hpp"
#include "runtime/sycl/runtime_call.hpp"

namespace sycl_ext {

namespace {

// The pauses between two looks grow while nothing ends.
constexpr std::chrono::microseconds shortest_pause{50}, longest_pause{5000};

// While this many groups wait, a new group gets no marker: libintelocl ends markers that wait for
// the same command by recursion, and some 20,000 of them overflow the stack of its thread.
// Measured by the second program of docs/develop/reports/opencl-cpu-events.md.
constexpr std::size_t most_groups = 256;

// Whether this is the thread that frees.  It must not wait for deferred frees, because it would
// wait for itself: a deleter may run Python code, and that may allocate.
thread_local bool frees = false;

}  // namespace

// Frees objects after the work on their queues.  Objects that wait for the same queues are a group
// if they arrived between two looks, or while there were many groups.  Each queue of a group gets a
// marker behind all of its work so far.  When all markers are done, the group is freed.
struct Reaper {
  // A list, newest first.  The members contain its links, so adding a member takes no memory.
  using List = std::unique_ptr<Deferred>;
  static void push(List* list, std::unique_ptr<Deferred> object) noexcept {
    object->next_ = std::move(*list);
    *list = std::move(object);
  }
  static std::unique_ptr<Deferred> pop(List* list) noexcept {
    std::unique_ptr<Deferred> object = std::move(*list);
    if (object) *list = std::move(object->next_);
    return object;
  }

  struct Group {
    QueueSet queues;  // those that the first member of the group waits for
    std::optional<std::vector<Event>> markers = std::nullopt;
    List members = nullptr;
  };

  void run() {
    frees = true;
    std::chrono::microseconds pause = shortest_pause;
    for (;;) {
      List arrived = next(pause);
      pause = arrived ? shortest_pause : std::min(2 * pause, longest_pause);
      while (std::unique_ptr<Deferred> object = pop(&arrived)) put(std::move(object));
      const std::size_t freed = free_those_done();
      const std::lock_guard<Mutex> lock(locks.deferred_frees);
      done += freed;
      count -= freed;
      ++looks_ended;
      passed.notify_all();
    }
  }

  // Sleeps while there is nothing to do, and for a pause while work is pending.
  List next(std::chrono::microseconds pause) {
    // Objects that arrive in quick succession are handled together, and do not wake the thread.
    std::unique_lock<Mutex> lock(locks.deferred_frees);
    changed.wait_for(lock, pause, [this] { return urgent; });
    urgent = false;
    if (groups.empty() && !fresh) {
      sleeps = true;
      changed.wait(lock, [this] { return fresh != nullptr; });
      sleeps = false;
    }
    ++looks_begun;
    return std::move(fresh);
  }

  // Puts an object into the group for its queues that has no marker yet.
  void put(std::unique_ptr<Deferred> object) noexcept {
    try {
      object->before_waiting();
    } catch (...) {  // other code's: the queues that are known are waited for
    }
    const QueueSet queues = object->awaited_queues();
    auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& other) {
      return !other.markers && other.queues == queues;
    });
    if (group == groups.end()) {
      try {
        group = groups.insert(groups.end(), Group{queues});
      } catch (...) {  // not enough memory now: the next look tries again
        const std::lock_guard<Mutex> lock(locks.deferred_frees);
        push(&fresh, std::move(object));
        return;
      }
    }
    push(&group->members, std::move(object));
  }

  // A queue of a lost device gets no marker, because no work is pending on it.  The driver must
  // report the loss each time: after a single such answer the work of the queue may go on, and its
  // memory would be freed.
  static Event marker_of(const Queue& queue) {
    try {
      return queue.marker();
    } catch (const DeviceLost&) {
    }
    try {
      return queue.marker();
    } catch (const DeviceLost&) {
      return Event();
    }
  }

  // A group stays without markers until the next look if the runtime fails, or if a queue records a
  // graph, in which a marker would be a node.
  static void mark(Group* group) noexcept {
    try {
      std::vector<Event> markers;
      for (const Queue* queue : group->queues) markers.push_back(marker_of(*queue));
      group->markers = std::move(markers);
    } catch (...) {
    }
  }

  static bool is_over(const Group& group) noexcept {
    const auto is_done = [](const Event& marker) {
      return marker.work(How::ask_under_lock) == Work::none;
    };
    return group.markers && std::all_of(group.markers->begin(), group.markers->end(), is_done);
  }

  // No lock is held, because a deleter may be Python's.
  std::size_t free_those_done() noexcept {
    std::size_t freed = 0;
    for (auto group = groups.begin(); group != groups.end();) {
      // A queue passes its markers in order, so markers behind a pending group are pending too.
      const bool is_behind = std::any_of(groups.begin(), group, [&](const Group& before) {
        return before.queues == group->queues;
      });
      const bool is_late = is_behind && groups.size() > most_groups;
      if (!group->markers && !is_late) mark(&*group);
      if (is_behind || !is_over(*group)) {
        ++group;
        continue;
      }
      List members = std::move(group->members);
      group = groups.erase(group);
      while (pop(&members)) ++freed;
    }
    return freed;
  }

  std::condition_variable_any changed;  // an object has arrived, or a look has become urgent
  std::condition_variable_any passed;   // a look has ended
  std::atomic<std::size_t> count{0};    // of the objects that wait to be freed
  std::atomic<std::uint64_t> done{0};   // the number of objects that were freed so far
  // Under locks.deferred_frees:
  List fresh;           // the objects that have arrived since the last look began
  bool runs = false;    // the thread was started
  bool sleeps = false;  // the thread waits until an object arrives
  bool urgent = false;  // a thread waits for a look (flush_deferred_frees), so there is no pause
  std::uint64_t looks_begun = 0, looks_ended = 0;
  // Only the thread uses them:
  std::list<Group> groups;  // oldest look first
};

namespace {

// A forked child makes its own: it does not have the thread, and the objects are the parent's to
// free.
FirstMade<Reaper, true> reapers;
Reaper& reaper() noexcept {
  return reapers.get([] { return Reaper(); });
}
[[maybe_unused]] Reaper& first_reaper = reaper();

struct TellDeferredFrees {
  TellDeferredFrees() noexcept { pending_work.deferred_frees = deferred_frees; }
};
[[maybe_unused]] const TellDeferredFrees tell_deferred_frees;

}  // namespace

void free_after_work(std::unique_ptr<Deferred> what) noexcept {
  if (is_process_ending()) {
    (void)what.release();  // the system takes the memory back
    return;
  }
  Reaper& all = reaper();
  const std::lock_guard<Mutex> lock(locks.deferred_frees);
  Reaper::push(&all.fresh, std::move(what));
  ++all.count;
  if (!all.runs) {
    try {
      start_thread([&all] { all.run(); });
      all.runs = true;
    } catch (...) {  // the next one tries again
    }
  }
  if (all.sleeps) all.changed.notify_one();
}

std::size_t deferred_frees() noexcept { return reaper().count; }

std::uint64_t deferred_frees_done() noexcept { return reaper().done; }

bool wait_for_deferred_free(std::uint64_t done, std::chrono::milliseconds timeout) {
  if (frees) return false;
  const Reaper& all = reaper();
  const WithoutGil released;
  const auto end = std::chrono::steady_clock::now() + timeout;
  wait_until([&] {
    return all.done != done || all.count == 0 || std::chrono::steady_clock::now() >= end;
  });
  return all.done != done;
}

bool is_freeing() noexcept { return frees; }

void flush_deferred_frees(std::chrono::milliseconds timeout) {
  if (frees) return;
  Reaper& all = reaper();
  std::unique_lock<Mutex> lock(locks.deferred_frees);
  const std::uint64_t look = all.looks_begun + (all.fresh ? 1 : 0);  // covers the newest object
  if (all.looks_ended == look) return;
  all.urgent = true;
  all.changed.notify_one();
  all.passed.wait_for(lock, timeout, [&] { return all.looks_ended >= look; });
}

}  // namespace sycl_ext
