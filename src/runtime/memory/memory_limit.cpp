// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory/memory_limit.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "base/fork.hpp"
#include "base/host.hpp"
#include "base/scope_exit.hpp"
#include "base/waiting.hpp"
#include "runtime/devices/device_table.hpp"
#include "runtime/memory/pools.hpp"
#include "runtime/memory/reaper.hpp"

namespace sycl_ext {

namespace {

// How long an allocation waits while no memory is freed: for pending work, or for the handler in
// another thread.  The wait is bounded because that handler may itself wait for this allocation.
constexpr std::chrono::milliseconds longest_wait_for_room{5000};
using Clock = std::chrono::steady_clock;
// The most calls of the handler for one allocation, so that a handler that always reports success
// does not run for ever.
constexpr int most_calls = 1000;

// The process in which a thread is in the handler; -1: the handler does not run.  Only one thread
// at a time is in the handler.  (A forked child does not have that thread, so it compares the
// process.)
std::atomic<int> handler_runs_in{-1};
// How often the handler has returned.
std::atomic<std::uint64_t> handler_ends{0};
// Whether this thread is in the handler.
thread_local bool is_asking __attribute__((tls_model("initial-exec"))) = false;

// Bytes of a kind on the device of an entry.  For a root device they include the bytes on its
// sub-devices and in its private contexts.
std::int64_t bytes_of(const Entry& entry, UsmKind kind) noexcept {
  std::int64_t sum = 0;
  for (int id = 0; id < entries_so_far(); ++id) {
    const Entry& other = *find_entry(id);
    if (&other == &entry || other.root_id == entry.id) sum += memory_use(&other, kind).bytes;
  }
  return sum;
}

bool is_handler_in_other_thread() noexcept {
  return !is_asking && handler_runs_in == process_generation;
}

enum class Answer { has_freed, has_nothing, in_other_thread };

Answer ask_handler(const Entry& entry, std::size_t nbytes) {
  const Host* const python = host;
  if (!python || is_asking) return Answer::has_nothing;
  int runs_in = handler_runs_in;
  if (runs_in == process_generation) return Answer::in_other_thread;
  if (!handler_runs_in.compare_exchange_strong(runs_in, process_generation)) {
    return Answer::in_other_thread;
  }
  is_asking = true;
  const ScopeExit end([] {
    is_asking = false;
    handler_runs_in = -1;
    ++handler_ends;
  });
  const Entry& root = *find_entry(entry.root_id);
  if (python->make_room(entry, nbytes)) return Answer::has_freed;
  if (&root != &entry && python->make_room(root, nbytes)) return Answer::has_freed;
  return Answer::has_nothing;
}

// The time that an allocation still waits for memory to be freed elsewhere.  It restarts when
// memory was freed, or when the handler has returned in another thread.
class Patience {
 public:
  explicit Patience(const Entry& entry) : entry_(entry), root_(*find_entry(entry.root_id)) {}

  void renew_after_progress() noexcept {
    const std::int64_t bytes = bytes_in_use();
    const std::uint64_t ends = handler_ends;
    if (bytes < fewest_ || ends != ends_) left_ = longest_wait_for_room;
    fewest_ = std::min(bytes, fewest_);
    ends_ = ends;
  }
  // The memory that this thread's own call of the handler has freed is tried at once, so that call
  // does not justify another wait.
  void ignore_own_call() noexcept { ends_ = handler_ends; }

  bool is_over() const noexcept { return is_freeing() || left_.count() <= 0; }
  // Whether waiting can help, because memory may be freed elsewhere.
  bool is_worth_it() const noexcept {
    return !is_over() && (deferred_frees() > 0 || is_handler_in_other_thread());
  }
  // Waits until memory was freed, or until none will be.
  void wait() {
    const WithoutGil released;
    const auto begin = Clock::now();
    wait_until([this, end = begin + left_] {
      if (Clock::now() >= end) return true;
      // Memory that the handler frees belongs to the allocation that has called the handler.
      if (is_handler_in_other_thread()) return false;
      return deferred_frees() == 0 || bytes_in_use() < fewest_;
    });
    left_ -= Clock::now() - begin;
  }

 private:
  // The entry or its root device may have a limit.
  std::int64_t bytes_in_use() const noexcept { return bytes_on(entry_) + bytes_on(root_); }

  const Entry& entry_;
  const Entry& root_;
  std::int64_t fewest_ = INT64_MAX;
  std::uint64_t ends_ = handler_ends;
  Clock::duration left_{};
};

}  // namespace

std::int64_t bytes_on(const Entry& entry) noexcept {
  return bytes_of(entry, UsmKind::device) + bytes_of(entry, UsmKind::shared);
}

bool is_room_made(const Entry& entry, std::size_t nbytes, const std::function<bool()>& has_room) {
  Patience patience(entry);
  int calls = 0;
  while (!has_room()) {
    patience.renew_after_progress();
    if (patience.is_worth_it()) {
      patience.wait();
      continue;
    }
    if (calls == most_calls) return false;
    ++calls;
    const Answer answer = ask_handler(entry, nbytes);
    if (answer == Answer::has_nothing) return false;
    if (answer == Answer::in_other_thread && patience.is_over()) return false;
    if (answer == Answer::has_freed) patience.ignore_own_call();
  }
  return true;
}

PassedLimit passed_limit(const Entry& entry, UsmKind kind, std::size_t nbytes) noexcept {
  if (kind == UsmKind::host) return {};
  for (const Entry* const limited : {&entry, find_entry(entry.root_id)}) {
    const EntryPools* const pools = made_pools_of(*limited);
    if (!pools) continue;
    const std::int64_t limit = pools->limit.load(std::memory_order_relaxed);
    if (limit < 0) continue;
    const std::int64_t used = bytes_on(*limited);
    if (used + static_cast<std::int64_t>(nbytes) > limit) return {limited, limit, used};
  }
  return {};
}

}  // namespace sycl_ext
