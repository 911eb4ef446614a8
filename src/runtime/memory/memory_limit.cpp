// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory/memory_limit.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>

#include "base/fork.hpp"
#include "base/interpreter.hpp"
#include "base/scope_exit.hpp"
#include "base/waiting.hpp"
#include "runtime/devices/device_table.hpp"
#include "runtime/memory/deferred_free.hpp"
#include "runtime/memory/pools.hpp"

namespace sycl_ext {

namespace {

// The time that an allocation waits for pending work, or for the handler in another thread, to free
// memory, while none is freed.  (That handler may wait for this allocation.)
constexpr std::chrono::milliseconds longest_wait_for_room{5000};
using Clock = std::chrono::steady_clock;
// In a row, of a handler that returns true: other threads may take memory that it frees.
constexpr int most_fruitless_calls = 100;

// The process in which a thread is in the handler, one at a time; -1: none is.  (A child does not
// have the thread.)
std::atomic<int> handler_runs_in{-1};
// How often the handler has ended.
std::atomic<std::uint64_t> handler_ends{0};
// Whether this thread is in the handler.
thread_local bool is_asking __attribute__((tls_model("initial-exec"))) = false;

// Bytes of a kind on the device of an entry; of a root device's, also on its parts and contexts.
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

enum class Answer { try_again, no_room, in_other_thread };

Answer ask_handler(const Entry& entry, std::size_t nbytes) {
  const MakeRoom ask = make_room;
  if (!ask || is_asking) return Answer::no_room;
  int last = handler_runs_in;
  if (last == process_generation ||
      !handler_runs_in.compare_exchange_strong(last, process_generation)) {
    return Answer::in_other_thread;
  }
  is_asking = true;
  const ScopeExit end([] {
    is_asking = false;
    handler_runs_in = -1;
    ++handler_ends;
  });
  const Entry& root = *find_entry(entry.root_id);
  const bool is_freed = ask(entry, nbytes) || (&root != &entry && ask(root, nbytes));
  return is_freed ? Answer::try_again : Answer::no_room;
}

}  // namespace

std::int64_t bytes_on(const Entry& entry) noexcept {
  return bytes_of(entry, UsmKind::device) + bytes_of(entry, UsmKind::shared);
}

bool is_room_made(const Entry& entry, std::size_t nbytes, const std::function<bool()>& has_room) {
  // Not the blocks that were freed: a handler, and other threads, also free what they allocate.
  using Bytes = std::array<std::int64_t, 2>;  // each of the two may have a limit
  const auto in_use = [&entry, &root = *find_entry(entry.root_id)] {
    return Bytes{bytes_on(entry), bytes_on(root)};
  };
  const auto is_less = [](const Bytes& a, const Bytes& b) { return a[0] < b[0] || a[1] < b[1]; };
  Bytes fewest{INT64_MAX, INT64_MAX};
  Clock::duration left{};
  std::uint64_t ends = handler_ends;
  const auto may_be_freed = [] { return deferred_frees() > 0 || is_handler_in_other_thread(); };
  for (int fruitless = 0;;) {
    const Bytes now = in_use();
    if (has_room()) return true;
    if (is_less(now, fewest)) {
      fewest = {std::min(now[0], fewest[0]), std::min(now[1], fewest[1])};
      fruitless = 0;
      left = longest_wait_for_room;
    }
    if (const std::uint64_t last = handler_ends; last != ends) {
      ends = last;
      left = longest_wait_for_room;
    }
    const bool waits = !is_freeing() && left.count() > 0;
    if (waits && may_be_freed()) {
      const WithoutGil released;
      const auto begin = Clock::now();
      wait_until([&, end = begin + left] {
        if (Clock::now() >= end) return true;
        // What the handler frees is for the allocation that has called it.
        if (is_handler_in_other_thread()) return false;
        return deferred_frees() == 0 || is_less(in_use(), fewest);
      });
      left -= Clock::now() - begin;
      continue;
    }
    if (fruitless++ == most_fruitless_calls) return false;
    const Answer answer = ask_handler(entry, nbytes);
    if (answer == Answer::no_room || (answer == Answer::in_other_thread && !waits)) return false;
    // Only what another thread's call frees may be worth another wait.
    if (answer == Answer::try_again) ends = handler_ends;
  }
}

const Entry* passed_limit(const Entry& entry, UsmKind kind, std::size_t nbytes) noexcept {
  if (kind == UsmKind::host) return nullptr;
  for (const Entry* const limited : {&entry, find_entry(entry.root_id)}) {
    const EntryPools* const pools = made_pools_of(*limited);
    if (!pools) continue;
    const std::int64_t limit = pools->limit.load(std::memory_order_relaxed);
    if (limit < 0) continue;
    if (bytes_on(*limited) + static_cast<std::int64_t>(nbytes) > limit) return limited;
  }
  return nullptr;
}

}  // namespace sycl_ext
