// SPDX-License-Identifier: Apache-2.0
#include "runtime/context_use.hpp"

#include <algorithm>

#include "base/lock.hpp"
#include "runtime/sycl_handles.hpp"

namespace sycl_ext {

namespace {

constexpr std::size_t looked_at_from = 16;  // contexts

// How many handles of an object there are.
template <class SyclObject>
long references_to(const SyclObject& object) noexcept {
  return sycl::detail::getSyclObjImpl(object).use_count();
}

}  // namespace

// The contexts in use, by the numbers with which they came into use.  Never destroyed: a block may
// come to its end after the static destructors.
struct ContextList {
  struct Listed {
    ContextUse* use;
    std::uint32_t number;
  };
  Mutex mutex{Rank::contexts};
  std::vector<Listed> listed;
  std::size_t room = 0;  // for so many
  std::atomic<std::size_t> size{0}, look_at{looked_at_from};
  std::atomic<std::uint32_t> end{0};

  static ContextList& instance;

  void add(ContextUse* use) noexcept {
    const std::lock_guard<Mutex> lock(mutex);
    if (use->is_in_use_) return;
    use->is_in_use_ = true;
    listed.push_back({use, end});
    ++end;
    size = listed.size();
  }

  PrivateContexts look(std::uint32_t first) {
    PrivateContexts found{{}, {}, end};
    if (size == 0) return found;
    const std::lock_guard<Mutex> lock(mutex);
    found.end = end;
    const auto begin = std::lower_bound(
        listed.begin(), listed.end(), first,
        [](const Listed& one, std::uint32_t number) { return one.number < number; });
    found.in_use.reserve(static_cast<std::size_t>(listed.end() - begin));
    std::vector<Listed> gone;
    gone.reserve(found.in_use.capacity());  // nothing may fail once one is out of use
    const auto kept = std::stable_partition(begin, listed.end(), [&](const Listed& one) {
      if (!stays(one.use)) return false;
      found.in_use.push_back(one.use->first_);
      return true;
    });
    gone.assign(kept, listed.end());
    listed.erase(kept, listed.end());
    size = listed.size();
    if (begin == listed.begin()) look_at = std::max(looked_at_from, 2 * listed.size());
    for (const Listed& one : gone) {
      for (const ContextEntry* entry = one.use->last_entry(); entry;
           entry = entry->previous_in_context) {
        found.dropped.push_back(entry);
      }
    }
    return found;
  }

 private:
  // Whoever gets hold of the context now either is seen here, or sees that it is in use no more,
  // and waits for the lock to list it again.
  static bool stays(ContextUse* use) noexcept {
    if (use->has_users()) return true;
    use->is_in_use_.store(false, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!use->has_users()) return false;
    use->is_in_use_ = true;
    return true;
  }
};

ContextList& ContextList::instance = *new ContextList;

void ContextUse::reserve() {
  ContextList& list = ContextList::instance;
  const std::lock_guard<Mutex> lock(list.mutex);
  if (++list.room > list.listed.capacity()) list.listed.reserve(2 * list.room);
}

void ContextUse::add_entry(const ContextEntry& entry) noexcept {
  if (!first_) first_ = &entry;
  entries_.store(&entry, std::memory_order_release);
}

// The table's own references are counted first: one that comes meanwhile looks like a user's.
bool ContextUse::has_users() const noexcept {
  if (blocks_ != 0 || address_is_known_) return true;
  long own = 1;  // the key of the table's map of contexts
  for (const ContextEntry* entry = last_entry(); entry; entry = entry->previous_in_context) {
    const std::optional<long> references = entry->own_references();
    if (!references) return true;
    own += *references;
  }
  return references_to(handles_->context) > own;
}

void ContextUse::list() noexcept { ContextList::instance.add(this); }

std::size_t private_contexts_in_use() noexcept { return ContextList::instance.size; }

PrivateContexts look_at_private_contexts(std::uint32_t first) {
  return ContextList::instance.look(first);
}

bool many_contexts_may_be_dropped() noexcept {
  const ContextList& list = ContextList::instance;
  return list.size >= list.look_at;
}

}  // namespace sycl_ext
