// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory/memory_limit.hpp"

#include <chrono>

#include "base/host.hpp"
#include "base/scope_exit.hpp"
#include "runtime/devices/device_table.hpp"
#include "runtime/memory/pools.hpp"
#include "runtime/memory/reaper.hpp"

namespace sycl_ext {

namespace {

// How long an allocation waits for pending work on freed blocks while none of that work ends.  It
// does not wait for ever, because the work may itself wait for this thread.
constexpr std::chrono::seconds longest_wait{5};

// Whether this thread is in the callback, whose own allocations do not call it.
thread_local bool is_called_back __attribute__((tls_model("initial-exec"))) = false;

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

// Calls the callback of the entry, or else that of its root device.  Returns whether the allocation
// is to be tried again.
bool call_back(const Entry& entry, std::size_t nbytes) {
  const Host* const python = host;
  if (!python || is_called_back) return false;
  is_called_back = true;
  const ScopeExit end([] { is_called_back = false; });
  const Entry& root = *find_entry(entry.root_id);
  return python->make_room(entry, nbytes) || (&root != &entry && python->make_room(root, nbytes));
}

}  // namespace

std::int64_t bytes_on(const Entry& entry) noexcept {
  return bytes_of(entry, UsmKind::device) + bytes_of(entry, UsmKind::shared);
}

bool retry_under_pressure(const Entry& entry, std::size_t nbytes,
                          const std::function<bool()>& attempt) {
  for (;;) {
    const std::uint64_t freed = deferred_frees_done();
    if (attempt()) return true;
    if (wait_for_deferred_free(freed, longest_wait)) continue;
    if (!call_back(entry, nbytes)) return false;
  }
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
