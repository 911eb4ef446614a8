// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory_limit.hpp"

#include <chrono>

#include "base/interpreter.hpp"
#include "runtime/deferred_free.hpp"
#include "runtime/device_table.hpp"

namespace sycl_ext {

namespace {

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

}  // namespace

MemoryUse& use_of(const Entry* entry, UsmKind kind) noexcept {
  return entry ? entry->memory_use[static_cast<std::size_t>(kind)] : use_of_host;
}

std::vector<UseOfKind> memory_use() {
  std::vector<UseOfKind> found;
  const auto add = [&found](const Entry* entry, UsmKind kind) {
    const MemoryUse& use = use_of(entry, kind);
    if (use.total() > 0) found.push_back({entry, kind, &use});
  };
  add(nullptr, UsmKind::system);
  for (int id = 0; id < entries_so_far(); ++id) {
    for (const UsmKind kind : allocated_kinds) add(find_entry(id), kind);
  }
  return found;
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

bool is_room_made(const Entry& entry, std::size_t nbytes) {
  const PressureHandler handler = pressure_handler;
  if (!handler || is_asking) return false;
  struct Asking {
    Asking() { is_asking = true; }
    ~Asking() { is_asking = false; }
  } asking;
  const Entry& root = *find_entry(entry.root_id);
  const bool made = handler(entry, nbytes) || (&root != &entry && handler(root, nbytes));
  if (made && deferred_frees() > 0) {
    const WithoutGil released;
    settle_deferred_frees(std::chrono::milliseconds(100));
  }
  return made;
}

const Entry* passed_limit(const Entry& entry, UsmKind kind, std::size_t nbytes) {
  if (kind == UsmKind::host) return nullptr;
  const Entry* passed = first_over(entry, nbytes);
  if (passed && deferred_frees() > 0) {
    const WithoutGil released;
    settle_deferred_frees(std::chrono::milliseconds(100));
    passed = first_over(entry, nbytes);
  }
  while (passed && is_room_made(entry, nbytes)) passed = first_over(entry, nbytes);
  return passed;
}

}  // namespace sycl_ext
