// SPDX-License-Identifier: Apache-2.0
#include "runtime/memory/host_registration.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/fork.hpp"
#include "base/host.hpp"
#include "base/lock.hpp"
#include "base/waiting.hpp"
#include "runtime/devices/entry_handles.hpp"
#include "runtime/devices/level_zero.hpp"
#include "runtime/sycl/handles.hpp"
#include "runtime/sycl/runtime_call.hpp"

namespace sycl_ext {

namespace {

namespace experimental = sycl::ext::oneapi::experimental;

// All ranges, by their first byte.  Drivers forget a range when any part of it is released, so no
// two of them overlap.  Never destroyed.
std::map<const std::byte*, RegisteredMemory*>& ranges =
    *new std::map<const std::byte*, RegisteredMemory*>;

bool is_whole_imported(const Entry& entry, const std::byte* data, std::size_t nbytes) noexcept {
  const std::optional<const void*> first = imported_from(entry, data);
  return first.value_or(nullptr) && first == imported_from(entry, data + nbytes - 1);
}

// Registers a range.  False: the driver cannot register it, or has not, which the runtime does not
// report.
//
// register_host_memory() of oneAPI 2026.2 does report it, and is not used: it takes whole pages
// alone, needs an extension of the driver (aspect ext_oneapi_register_host_memory), and makes USM
// of the memory, which then belongs to a context, for every library that asks.
// https://github.com/intel/llvm/blob/sycl/sycl/doc/extensions/experimental/sycl_ext_oneapi_register_host_memory.asciidoc
bool import(const Entry& entry, const std::byte* data, std::size_t nbytes) noexcept {
  try {
    experimental::prepare_for_device_copy(data, nbytes, entry.sycl->context);
  } catch (...) {
    return false;
  }
  return !imported_from(entry, data) || is_whole_imported(entry, data, nbytes);
}

// The range that overlaps these bytes; nullptr: there is none.  The caller holds the lock.
RegisteredMemory* find_overlapping(const std::byte* data, std::size_t nbytes) {
  const auto after = ranges.lower_bound(data + nbytes);
  if (after == ranges.begin()) return nullptr;
  RegisteredMemory* const range = std::prev(after)->second;
  return range->overlaps(data, nbytes) ? range : nullptr;
}

}  // namespace

RegisteredMemory::~RegisteredMemory() {
  const WithoutGil released;
  if (!is_process_ending()) {
    const RuntimeCall call("releasing host memory");
    const std::lock_guard<Mutex> lock(locks.host_registrations);
    release();
  }
  memory_.reset();  // whoever waits for the range may close the memory from now on
  const std::lock_guard<Mutex> lock(locks.host_registrations);
  const auto range = ranges.find(data);
  if (range != ranges.end() && range->second == this) ranges.erase(range);
}

void RegisteredMemory::release() noexcept {
  for (const Known& known : std::exchange(known_, {})) {
    // After a fork the registration is the parent's; at the end of the process it is the system's.
    if (!known.is_ours || is_forked_child() || is_process_ending()) continue;
    try {
      experimental::release_from_device_copy(data, known.root->sycl->context);
    } catch (...) {  // a deleter never raises
    }
  }
}

bool RegisteredMemory::is_known_to(const Entry& entry) const noexcept {
  const Entry* const root = find_entry(entry.root_id);
  return std::any_of(known_.begin(), known_.end(),
                     [root](const Known& known) { return same_context(*known.root, *root); });
}

Registration register_host(const Memory& memory, const std::byte* data, std::size_t nbytes) {
  const auto made = std::make_shared<RegisteredMemory>(memory, data, nbytes);
  const WithoutGil released;
  if (nbytes == 0 || is_forked_child()) return made;
  made->known_.reserve(root_count());  // nothing fails between an import and its note
  Registration other;                  // dropped without the lock
  const RuntimeCall call("registering host memory");
  const std::lock_guard<Mutex> lock(locks.host_registrations);
  while (RegisteredMemory* const range = find_overlapping(data, nbytes)) {
    other = range->weak_from_this().lock();
    if (other && other->contains(data, nbytes)) return other;
    if (other) {
      fail(Error::Kind::buffer, "the ", nbytes, " bytes at ", static_cast<const void*>(data),
           " overlap ", other->nbytes, " bytes at ", static_cast<const void*>(other->data),
           ", which are already registered; close that registration first, or register one range "
           "that contains both");
    }
    range->release();  // its last handle is being dropped
    ranges.erase(range->data);
  }
  ranges[data] = made.get();
  for (const Entry* entry = find_entry(0); entry; entry = entry->next_searched) {
    // On a device that uses host memory, the host makes the copies, so nothing is registered.
    if (!entry->default_context || entry->host_memory || entry->blocks_on_pageable) continue;
    const bool is_anothers = is_whole_imported(*entry, data, nbytes);
    if (is_anothers || import(*entry, data, nbytes)) {
      made->known_.push_back({entry, !is_anothers});
    }
  }
  return made;
}

void HostRegistration::close(bool wait) {
  Registration registration = std::move(held_);
  if (!registration) return;
  --registration->users;
  if (!wait || registration->nbytes == 0 || is_forked_child() || is_freeing()) return;
  const WithoutGil released;
  const std::byte* const data = registration->data;
  registration.reset();
  wait_until([data] {
    const std::lock_guard<Mutex> lock(locks.host_registrations);
    const auto range = ranges.find(data);
    return range == ranges.end() || range->second->users > 0;
  });
}

std::vector<Registration> registrations_of(const std::byte* data, std::size_t nbytes) {
  std::vector<Registration> registrations;  // dropped without the lock
  const std::lock_guard<Mutex> lock(locks.host_registrations);
  // From the last range to the first: no two of them overlap.
  for (auto after = ranges.lower_bound(data + nbytes); after != ranges.begin();) {
    const RegisteredMemory& range = *(--after)->second;
    if (!range.overlaps(data, nbytes)) break;
    registrations.emplace_back();  // may fail, before there is a handle
    registrations.back() = range.weak_from_this().lock();
    if (!registrations.back()) registrations.pop_back();  // its last handle is being dropped
  }
  return registrations;
}

}  // namespace sycl_ext
