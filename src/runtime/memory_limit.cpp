// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory_limit.hpp"

#include <chrono>

#include "base/interpreter.hpp"
#include "runtime/deferred_free.hpp"
#include "runtime/device_table.hpp"

namespace sycl_ext {

namespace {

// The time that an allocation waits for pending work to free memory, while none is freed.
constexpr std::chrono::milliseconds longest_wait_for_room{5000};
// In a row, of a handler that returns true: other threads may take memory that it frees.
constexpr int most_fruitless_calls = 100;

std::atomic<PressureHandler> pressure_handler{nullptr};
MemoryUse use_of_host;  // trivially destroyed: good until the process ends

// Whether this thread is in the handler.
thread_local bool is_asking __attribute__((tls_model("initial-exec"))) = false;

bool is_over(const Entry& limited, std::size_t nbytes) noexcept {
  const std::int64_t limit = limited.memory_limit.load(std::memory_order_relaxed);
  return limit >= 0 && bytes_on(limited) + static_cast<std::int64_t>(nbytes) > limit;
}

const Entry* first_over(const Entry& entry, std::size_t nbytes) noexcept {
  if (is_over(entry, nbytes)) return &entry;
  const Entry* const root = find_entry(entry.root_id);
  return is_over(*root, nbytes) ? root : nullptr;
}

// How many blocks of a root device, its parts and contexts have been freed.
std::int64_t freed_of(int root_id) noexcept {
  std::int64_t sum = 0;
  for (int id = 0; id < entries_so_far(); ++id) {
    const Entry& one = *find_entry(id);
    if (one.root_id != root_id) continue;
    for (const UsmKind kind : allocated_kinds) {
      sum += use_of(&one, kind).total() - use_of(&one, kind).live();
    }
  }
  return sum;
}

// Whether the device has room once blocks with pending work are freed.  `left`: the time to wait.
bool is_room_made_by_waiting(std::chrono::milliseconds* left,
                             const std::function<bool()>& has_room) {
  while (may_wait_for_deferred_frees() && left->count() > 0) {
    const auto begin = std::chrono::steady_clock::now();
    {
      const WithoutGil released;
      wait_interruptibly([timeout = *left] { wait_for_deferred_free(timeout); });
    }
    if (has_room()) return true;
    const auto waited = std::chrono::steady_clock::now() - begin;
    *left -= std::chrono::ceil<std::chrono::milliseconds>(waited);
  }
  return false;
}

bool ask_handler(const Entry& entry, std::size_t nbytes) {
  const PressureHandler handler = pressure_handler;
  if (!handler || is_asking) return false;
  struct Asking {
    Asking() { is_asking = true; }
    ~Asking() { is_asking = false; }
  } asking;
  const Entry& root = *find_entry(entry.root_id);
  return handler(entry, nbytes) || (&root != &entry && handler(root, nbytes));
}

}  // namespace

MemoryUse& use_of(const Entry* entry, UsmKind kind) noexcept {
  return entry ? entry->memory_use[static_cast<std::size_t>(kind)] : use_of_host;
}

std::int64_t bytes_on(const Entry& entry) noexcept {
  const auto on_device = [](const Entry& one) {
    return use_of(&one, UsmKind::device).bytes() + use_of(&one, UsmKind::shared).bytes();
  };
  if (entry.kind != EntryKind::root) return on_device(entry);
  std::int64_t sum = 0;
  for (int id = 0; id < entries_so_far(); ++id) {
    const Entry& one = *find_entry(id);
    if (one.root_id == entry.id) sum += on_device(one);
  }
  return sum;
}

void set_pressure_handler(PressureHandler handler) noexcept { pressure_handler = handler; }

bool is_room_made(const Entry& entry, std::size_t nbytes, const std::function<bool()>& has_room) {
  std::chrono::milliseconds left = longest_wait_for_room;
  for (int fruitless = 0; fruitless < most_fruitless_calls; ++fruitless) {
    const std::int64_t before = freed_of(entry.root_id);
    if (is_room_made_by_waiting(&left, has_room)) return true;
    if (!ask_handler(entry, nbytes)) return false;
    if (has_room()) return true;
    if (freed_of(entry.root_id) == before) continue;
    fruitless = -1;
    left = longest_wait_for_room;
  }
  return false;
}

const Entry* passed_limit(const Entry& entry, UsmKind kind, std::size_t nbytes) {
  if (kind == UsmKind::host) return nullptr;
  const Entry* passed = first_over(entry, nbytes);
  const auto has_room = [&] { return !(passed = first_over(entry, nbytes)); };
  if (passed) is_room_made(entry, nbytes, has_room);
  return passed;
}

}  // namespace sycl_ext
