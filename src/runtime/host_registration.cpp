// SPDX-License-Identifier: Apache-2.0
#include "runtime/host_registration.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <thread>
#include <utility>

#include "base/fork.hpp"
#include "base/interpreter.hpp"
#include "base/lock.hpp"
#include "runtime/level_zero.hpp"
#include "runtime/runtime_call.hpp"
#include "runtime/sycl_handles.hpp"

namespace sycl_ext {

namespace {

namespace experimental = sycl::ext::oneapi::experimental;

// All ranges, by their first byte.  Drivers forget a range when any part of it is released, so no
// two of them overlap.  A range without a handle is on its way in or out.  Never destroyed.
struct Range {
  std::size_t nbytes;
  std::weak_ptr<const RegisteredMemory> handle;
};
Mutex& changing = *new Mutex(Rank::host_registrations);
std::map<const std::byte*, Range>& ranges = *new std::map<const std::byte*, Range>;

bool is_whole_imported(const Entry& entry, const std::byte* data, std::size_t nbytes) noexcept {
  const ImportedFrom first = imported_from(entry, data);
  return first.first && first.first == imported_from(entry, data + nbytes - 1).first;
}

// False: the driver cannot, or has not, which the runtime does not tell.
bool import(const Entry& entry, const std::byte* data, std::size_t nbytes) noexcept {
  try {
    const RuntimeCall call("registering host memory");
    experimental::prepare_for_device_copy(data, nbytes, entry.sycl->context);
  } catch (...) {
    return false;
  }
  return !imported_from(entry, data).is_known || is_whole_imported(entry, data, nbytes);
}

// The range that overlaps these bytes; nullptr: there is none.  The caller holds the lock.
Range* find_overlapping(const std::byte* data, std::size_t nbytes) {
  const auto after = ranges.lower_bound(data + nbytes);
  if (after == ranges.begin()) return nullptr;
  const auto found = std::prev(after);
  return found->first + found->second.nbytes > data ? &found->second : nullptr;
}

// nullptr: there is none, or it is on its way.  The caller drops it without the lock.
Registration overlapping(const std::byte* data, std::size_t nbytes) {
  const std::lock_guard<Mutex> lock(changing);
  const Range* const range = find_overlapping(data, nbytes);
  return range ? range->handle.lock() : nullptr;
}

// False: another range overlaps.
bool reserve(const std::byte* data, std::size_t nbytes) {
  const std::lock_guard<Mutex> lock(changing);
  if (find_overlapping(data, nbytes)) return false;
  ranges[data] = {nbytes, {}};
  return true;
}

}  // namespace

RegisteredMemory::RegisteredMemory(Memory memory, const std::byte* data, std::size_t nbytes)
    : data(data), nbytes(nbytes), memory_(std::move(memory)) {
  if (nbytes == 0 || is_forked_child()) return;
  std::vector<const Entry*> drivers;
  for (const Entry* entry = first_searched(); entry; entry = entry->next_searched) {
    // Of a host device the copies are the host's.
    if (entry->default_context && !entry->host_memory) drivers.push_back(entry);
  }
  known_.reserve(drivers.size());  // nothing fails between an import and its note
  for (const Entry* entry : drivers) {
    const bool is_anothers = is_whole_imported(*entry, data, nbytes);
    if (is_anothers || import(*entry, data, nbytes)) known_.push_back({entry, !is_anothers});
  }
}

RegisteredMemory::~RegisteredMemory() {
  // After a fork it is the parent's, and at the end of the process the system's.
  if (!is_forked_child() && !is_process_ending()) {
    const WithoutGil released;
    for (const auto& [entry, is_ours] : known_) {
      if (!is_ours) continue;
      try {
        const RuntimeCall call("releasing host memory");
        experimental::release_from_device_copy(data, entry->sycl->context);
      } catch (...) {  // a deleter never raises
      }
    }
  }
  memory_.reset();  // a waiter for the range may close the memory at once
  if (nbytes == 0) return;
  const std::lock_guard<Mutex> lock(changing);
  const auto range = ranges.find(data);
  if (range != ranges.end() && range->second.handle.expired()) ranges.erase(range);
}

bool RegisteredMemory::is_known_to(const Entry& entry) const noexcept {
  const Entry* const root = find_entry(entry.root_id);
  return std::any_of(known_.begin(), known_.end(),
                     [root](const auto& one) { return same_context(*one.first, *root); });
}

Registration register_host(Memory memory, const std::byte* data, std::size_t nbytes) {
  const WithoutGil released;
  if (nbytes == 0 || is_forked_child()) {
    return std::make_shared<const RegisteredMemory>(std::move(memory), data, nbytes);
  }
  while (!reserve(data, nbytes)) {
    const Registration other = overlapping(data, nbytes);
    if (other && other->contains(data, nbytes)) return other;
    if (other) {
      fail(Error::Kind::buffer, "the ", nbytes, " bytes at ", static_cast<const void*>(data),
           " overlap ", other->nbytes, " bytes at ", static_cast<const void*>(other->data),
           ", which are registered, and drivers know each byte once; close that registration "
           "first, or register all of it at once");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  try {
    auto made = std::make_shared<const RegisteredMemory>(std::move(memory), data, nbytes);
    const std::lock_guard<Mutex> lock(changing);
    ranges[data].handle = made;
    return made;
  } catch (...) {
    const std::lock_guard<Mutex> lock(changing);
    ranges.erase(data);
    throw;
  }
}

void forget(Registration registration) {
  const WithoutGil released;
  const std::byte* const data = registration->data;
  if (registration->nbytes == 0 || is_forked_child()) return;
  registration.reset();
  wait_interruptibly([data] {
    const auto is_going = [data] {
      Registration handle;
      const std::lock_guard<Mutex> lock(changing);
      const auto range = ranges.find(data);
      if (range != ranges.end()) handle = range->second.handle.lock();
      return range != ranges.end() && !(handle && handle->users > 0);
    };
    while (is_going()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
}

Registration registration_of(const Entry& entry, const std::byte* data, std::size_t nbytes) {
  Registration found = overlapping(data, nbytes);
  return found && found->contains(data, nbytes) && found->is_known_to(entry) ? found : nullptr;
}

}  // namespace sycl_ext
