// SPDX-License-Identifier: Apache-2.0
#include "runtime/deferred_free.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <list>
#include <thread>
#include <utility>

#include "base/lock.hpp"
#include "runtime/runtime_call.hpp"

namespace sycl_ext {

namespace {

// The pauses between two looks grow while nothing ends.
constexpr std::chrono::microseconds shortest_pause{50}, longest_pause{5000};

// Whether this is the thread that frees.  What it frees may be Python's, which may allocate there:
// a wait would be one of the thread for itself.
thread_local bool frees = false;

Mutex& mutex = *new Mutex(Rank::deferred_frees);

}  // namespace

// What was deferred between two looks is a batch.  A queue that a batch waits for gets a marker
// behind all of its work so far; a block is freed when each of its queues has passed the marker of
// the block's batch.
class Reaper {
 public:
  void add(std::unique_ptr<Deferred> what) noexcept {
    const std::lock_guard<Mutex> lock(mutex);
    fresh_.push(what.release());
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

  // A queue that is waited for.
  struct Line {
    Queue queue;
    std::uint64_t wanted = 0, marked = 0, done = 0;            // the last batch
    std::deque<std::pair<std::uint64_t, Event>> markers = {};  // the first is asked
    bool is_used = true;
  };

  void run() {
    frees = true;
    List waiting;
    std::chrono::microseconds pause = shortest_pause;
    for (;;) {
      List fresh = next(waiting.empty(), pause);
      pause = fresh.empty() ? std::min(2 * pause, longest_pause) : shortest_pause;
      ++batch_;
      std::uint64_t fresh_count = 0, freed = 0;
      List asked;
      while (Deferred* const one = fresh.pop()) {
        one->batch_ = batch_;
        is_free(*one);  // its queues get a marker
        asked.push(one);
        ++fresh_count;
      }
      if (advance() || fresh_count != 0) {
        for (Line& line : lines_) line.is_used = false;
        for (List* const list : {&waiting, &asked}) freed += free_those_done(list);
        while (Deferred* const one = asked.pop()) waiting.push(one);
        lines_.remove_if([](const Line& line) { return !line.is_used && line.markers.empty(); });
      }
      const std::lock_guard<Mutex> lock(mutex);
      count_ -= freed;
      add_unfinished_work(-static_cast<int>(freed));
      freed_ += freed;
      looked_at_ += fresh_count;
      passed_.notify_all();
    }
  }

  // Sleeps while there is nothing to do, and for a pause while something is pending.
  List next(bool is_idle, std::chrono::microseconds pause) {
    // What comes in quick succession is handled together, and wakes nobody.
    std::unique_lock<Mutex> lock(mutex);
    changed_.wait_for(lock, pause, [this] { return urgent_; });
    urgent_ = false;
    if (is_idle && fresh_.empty()) {
      sleeps_ = true;
      changed_.wait(lock, [this] { return !fresh_.empty(); });
      sleeps_ = false;
    }
    return std::exchange(fresh_, {});
  }

  // Whether its queues have passed the markers of its batch; asks for markers that are missing.
  bool is_free(const Deferred& one) noexcept {
    bool is_free = true;
    for (const Queue* queue : one.awaited_queues()) {
      Line* const line = line_of(*queue);
      if (line) line->is_used = true;
      if (line && line->done >= one.batch_) continue;
      if (line) line->wanted = std::max(line->wanted, one.batch_);
      is_free = false;
    }
    return is_free;
  }

  // nullptr: there is no memory for it now.
  Line* line_of(const Queue& queue) noexcept {
    const auto found = std::find_if(lines_.begin(), lines_.end(),
                                    [&](const Line& line) { return line.queue == queue; });
    if (found != lines_.end()) return &*found;
    try {
      lines_.push_back({queue});
      return &lines_.back();
    } catch (...) {
      is_behind_ = true;
      return nullptr;
    }
  }

  // Submits the markers that are missing, and asks the oldest of each queue.  True: there may be
  // something to free.
  bool advance() noexcept {
    bool has_changed = std::exchange(is_behind_, false);
    for (Line& line : lines_) {
      if (line.marked < line.wanted) mark(&line);
      while (!line.markers.empty() && line.markers.front().second.is_done()) {
        line.done = line.markers.front().first;
        line.markers.pop_front();
        has_changed = true;
      }
    }
    return has_changed;
  }

  void mark(Line* line) noexcept {
    try {
      line->markers.emplace_back(batch_, Event());
    } catch (...) {
      return;  // the next look tries again
    }
    try {
      line->markers.back().second = line->queue.marker();
    } catch (const Error&) {  // a lost device does nothing any more
    } catch (...) {
      return line->markers.pop_back();
    }
    line->marked = batch_;
  }

  // No lock is held: what is freed may be Python's.
  std::uint64_t free_those_done(List* list) noexcept {
    List left;
    std::uint64_t freed = 0;
    while (Deferred* const one = list->pop()) {
      if (is_free(*one)) {
        delete one;
        ++freed;
      } else {
        left.push(one);
      }
    }
    *list = left;
    return freed;
  }

  std::condition_variable_any changed_, passed_;
  List fresh_;
  bool runs_ = false, sleeps_ = false, urgent_ = false;
  std::atomic<std::size_t> count_{0};
  std::uint64_t added_ = 0, looked_at_ = 0, freed_ = 0;
  // Of the thread.
  std::list<Line> lines_;
  std::uint64_t batch_ = 0;
  bool is_behind_ = false;  // not every queue has its line
};

namespace {

// In a child there is no such thread, and what it had was the parent's to free.  Never destroyed:
// blocks come back after the static destructors.
PerProcess<Reaper>& reaper = *new PerProcess<Reaper>;

}  // namespace

void free_after_work(std::unique_ptr<Deferred> what) noexcept {
  if (is_process_ending()) return static_cast<void>(what.release());
  reaper->add(std::move(what));
}

std::size_t deferred_frees() noexcept { return reaper->count(); }

bool may_wait_for_deferred_frees() noexcept { return !frees && deferred_frees() > 0; }

void settle_deferred_frees(std::chrono::milliseconds timeout) {
  if (!frees) reaper->settle(timeout);
}

bool wait_for_deferred_free(std::chrono::milliseconds timeout) { return reaper->wait(timeout); }

}  // namespace sycl_ext
