// SPDX-License-Identifier: Apache-2.0
// Memory with pending work is kept until that work is done; one background thread then frees it.
// Dropping the last handle of a block returns at once: in Python with the GIL, in a thread of the
// runtime during a command, and after an interrupted copy.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/sycl/queue.hpp"

namespace sycl_ext {

// A list that never changes, so that others can read it without a lock; nullptr: empty.
using QueueList = std::shared_ptr<const std::vector<Queue>>;

// Queues with work that may use a block: some that live longer than the set, and a list.
class QueueSet {
 public:
  void add(const Queue& queue) noexcept {
    if (size_ == queues_.size()) std::abort();  // there are not so many kinds of queues
    queues_[size_++] = &queue;
  }
  void add(QueueList list) noexcept { list_ = std::move(list); }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = const Queue*;
    using difference_type = std::ptrdiff_t;
    using pointer = const value_type*;
    using reference = value_type;
    Iterator(const QueueSet& set, std::size_t place) noexcept : set_(&set), place_(place) {}
    const Queue* operator*() const noexcept { return set_->at(place_); }
    Iterator& operator++() noexcept {
      ++place_;
      return *this;
    }
    bool operator==(const Iterator& other) const noexcept { return place_ == other.place_; }
    bool operator!=(const Iterator& other) const noexcept { return place_ != other.place_; }

   private:
    const QueueSet* set_;
    std::size_t place_;
  };
  Iterator begin() const noexcept { return {*this, 0}; }
  Iterator end() const noexcept { return {*this, size_ + (list_ ? list_->size() : 0)}; }
  bool empty() const noexcept { return begin() == end(); }
  // The same queues, in the same order.
  bool operator==(const QueueSet& other) const noexcept {
    return std::equal(begin(), end(), other.begin(), other.end(),
                      [](const Queue* a, const Queue* b) { return *a == *b; });
  }

 private:
  const Queue* at(std::size_t place) const noexcept {
    return place < size_ ? queues_[place] : &(*list_)[place - size_];
  }
  std::array<const Queue*, 5> queues_{};  // the most that Allocation::busy_queues() finds
  std::size_t size_ = 0;
  QueueList list_;
};

// An object for the thread that frees.  It contains its link of the list of the thread, so this
// takes no memory and cannot fail.  The destructor frees, on any thread.
class Deferred {
 public:
  virtual ~Deferred() = default;

  // The queues with pending work that must end before.
  virtual QueueSet awaited_queues() const noexcept = 0;

 private:
  friend struct Reaper;
  std::unique_ptr<Deferred> next_;
};

// Destroys `what` when the work that was submitted to its queues so far is done; or never, if the
// process ends or was forked before.
void free_after_work(std::unique_ptr<Deferred> what) noexcept;

// The number of objects that wait.
std::size_t deferred_frees() noexcept;

// Whether this is the thread that frees, which must not wait for any of them.
bool is_freeing() noexcept;

// Waits until all of them were looked at once, and destroyed where no work is pending; or until the
// time is over.  Must not hold the GIL.
void settle_deferred_frees(std::chrono::milliseconds timeout);

}  // namespace sycl_ext
