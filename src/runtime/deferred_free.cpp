// SPDX-License-Identifier: Apache-2.0
#include "runtime/deferred_free.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <new>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/lock.hpp"
#include "runtime/runtime_call.hpp"

namespace sycl_ext {

namespace {

// Markers are asked in turn, so that a long command on one queue does not keep what belongs to
// another.  The pauses grow while nothing ends.
constexpr std::chrono::microseconds shortest_pause{50}, longest_pause{5000};

struct Deferred {
  std::array<Queue, QueueSet::capacity> queues;
  std::shared_ptr<const void> what;
};

// The end of all work that a queue had been given when something was deferred.
struct Marker {
  Queue queue;
  Event event;
  bool is_done = false;
};
using Markers = std::vector<std::shared_ptr<Marker>>;

// What was deferred together on the same queues.
struct Waiting {
  Markers markers;
  std::vector<std::shared_ptr<const void>> what;
};

// Asks markers, oldest first, whether they are done.  A marker of a queue is not done before an
// older one, so a queue that is busy is asked once, however many markers it has.
class Question {
 public:
  bool is_done(const Waiting& waiting) {
    return std::all_of(waiting.markers.begin(), waiting.markers.end(),
                       [this](const auto& marker) { return is_done(marker.get()); });
  }

 private:
  bool is_done(Marker* marker) {
    if (marker->is_done) return true;
    const auto is_its_queue = [marker](const Queue* queue) { return *queue == marker->queue; };
    if (std::any_of(busy_.begin(), busy_.end(), is_its_queue)) return false;
    marker->is_done = marker->event.is_done();
    if (!marker->is_done) {
      try {
        busy_.push_back(&marker->queue);
      } catch (const std::bad_alloc&) {  // its next marker is asked, too
      }
    }
    return marker->is_done;
  }

  std::vector<const Queue*> busy_;
};

// Whether this is the thread that frees.  What it frees may be Python's, which may allocate there:
// a wait would be one of the thread for itself.
thread_local bool frees = false;

std::atomic<long> abandoned_count{0};

// Keeps for ever.
void abandon(std::shared_ptr<const void> what) noexcept {
  if (!what) return;
  count_abandoned_free();
  using Kept = std::shared_ptr<const void>;
  alignas(Kept) unsigned char never_destroyed[sizeof(Kept)];
  new (never_destroyed) Kept(std::move(what));
}

Mutex& mutex = *new Mutex(Rank::deferred_frees);

class Reaper {
 public:
  void add(Deferred deferred) {
    const std::lock_guard<Mutex> lock(mutex);
    deferred_.push_back(std::move(deferred));
    ++count_;
    ++added_;
    add_unfinished_work(1);
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
  void run() {
    frees = true;
    std::vector<Waiting> waiting;
    std::chrono::microseconds pause = shortest_pause;
    for (;;) {
      std::vector<Deferred> deferred = next(waiting.empty(), pause);
      pause = deferred.empty() ? std::min(2 * pause, longest_pause) : shortest_pause;
      Markers fresh;
      const auto old = static_cast<std::ptrdiff_t>(waiting.size());
      std::size_t abandoned = 0;
      for (const Deferred& one : deferred) {
        try {
          Markers markers = markers_of(one, &fresh);
          auto found = std::find_if(waiting.begin() + old, waiting.end(),
                                    [&](const Waiting& other) { return other.markers == markers; });
          if (found == waiting.end()) {
            waiting.push_back({std::move(markers), {}});
            found = std::prev(waiting.end());
          }
          found->what.push_back(one.what);
        } catch (...) {
          abandon(one.what);
          ++abandoned;
        }
      }
      const std::size_t fresh_count = deferred.size();
      deferred.clear();
      const std::size_t dropped = drop_done(&waiting) + abandoned;
      const std::lock_guard<Mutex> lock(mutex);
      count_ -= dropped;
      add_unfinished_work(-static_cast<int>(dropped));
      freed_ += dropped;
      looked_at_ += fresh_count;
      passed_.notify_all();
    }
  }

  // Sleeps while there is nothing to do, and for a pause while something is pending.
  std::vector<Deferred> next(bool is_idle, std::chrono::microseconds pause) {
    // What comes in quick succession is handled together, and wakes nobody.
    std::unique_lock<Mutex> lock(mutex);
    changed_.wait_for(lock, pause, [this] { return urgent_; });
    urgent_ = false;
    if (is_idle && deferred_.empty()) {
      sleeps_ = true;
      changed_.wait(lock, [this] { return !deferred_.empty(); });
      sleeps_ = false;
    }
    return std::exchange(deferred_, {});
  }

  // One marker serves all that was deferred together on one queue.
  static Markers markers_of(const Deferred& deferred, Markers* fresh) {
    Markers markers;
    for (const Queue& queue : deferred.queues) {
      if (!queue) continue;
      auto found = std::find_if(fresh->begin(), fresh->end(),
                                [&](const auto& marker) { return marker->queue == queue; });
      if (found == fresh->end()) {
        fresh->push_back(std::make_shared<Marker>(Marker{queue, end_of_work(queue)}));
        found = std::prev(fresh->end());
      }
      markers.push_back(*found);
    }
    return markers;
  }

  static Event end_of_work(const Queue& queue) {
    try {
      return queue.marker();
    } catch (const Error&) {  // a lost device does nothing any more
      return Event();
    }
  }

  // No lock is held: what is dropped may be Python's.
  static std::size_t drop_done(std::vector<Waiting>* waiting) {
    Question question;
    const auto first_done =
        std::stable_partition(waiting->begin(), waiting->end(),
                              [&](const Waiting& one) { return !question.is_done(one); });
    std::size_t dropped = 0;
    for (auto one = first_done; one != waiting->end(); ++one) dropped += one->what.size();
    waiting->erase(first_done, waiting->end());
    return dropped;
  }

  std::condition_variable_any changed_, passed_;
  std::vector<Deferred> deferred_;
  bool runs_ = false, sleeps_ = false, urgent_ = false;
  std::atomic<std::size_t> count_{0};
  std::uint64_t added_ = 0, looked_at_ = 0, freed_ = 0;
};

// In a child there is no such thread, and what it had was the parent's to free.  Never destroyed:
// blocks come back after the static destructors.
PerProcess<Reaper>& reaper = *new PerProcess<Reaper>;

}  // namespace

void free_after_work(const QueueSet& queues, std::shared_ptr<const void> what) noexcept {
  if (is_process_ending()) return abandon(std::move(what));
  try {
    Deferred deferred;
    std::size_t count = 0;
    for (const Queue* queue : queues) {
      if (queue->may_have_work()) deferred.queues[count++] = *queue;
    }
    deferred.what = what;
    reaper->add(std::move(deferred));
  } catch (...) {  // no memory to remember it with
    abandon(std::move(what));
  }
}

std::size_t deferred_frees() noexcept { return reaper->count(); }

bool may_wait_for_deferred_frees() noexcept { return !frees && deferred_frees() > 0; }

void settle_deferred_frees(std::chrono::milliseconds timeout) {
  if (!frees) reaper->settle(timeout);
}

long abandoned_frees() noexcept { return abandoned_count.load(std::memory_order_relaxed); }

void count_abandoned_free() noexcept { abandoned_count.fetch_add(1, std::memory_order_relaxed); }

bool wait_for_deferred_free(std::chrono::milliseconds timeout) { return reaper->wait(timeout); }

}  // namespace sycl_ext
