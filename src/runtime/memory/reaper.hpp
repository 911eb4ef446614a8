// SPDX-License-Identifier: Apache-2.0
// Dropping the last handle of a block neither queries the runtime nor waits.  If work on the block
// may be pending, one background thread frees it when that work is done.  The handle may be dropped
// in Python with the GIL, in a thread of the runtime during a command, or after an interrupted
// copy, where a question would be a deadlock, and a wait too long.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/sycl/queue.hpp"

namespace sycl_ext {

// A list that never changes, so that others can read it without a lock; nullptr: empty.
using QueueList = std::shared_ptr<const std::vector<Queue>>;

// Queues with work that may use a block: some queues that outlive the set, and a list.
class QueueSet {
 public:
  void add(const Queue& queue) noexcept {
    if (size_ == queues_.size()) std::abort();  // a block has fewer kinds of queues
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
  std::array<const Queue*, 7> queues_{};  // the most that Lifetime::busy_queues() finds
  std::size_t size_ = 0;
  QueueList list_;
};

// An object that the background thread frees, by its destructor.  The object contains its link in
// the list of that thread, so handing it over takes no memory and cannot fail.
class Deferred {
 public:
  virtual ~Deferred() = default;

  // Called by the background thread before it asks for the queues.  May take the GIL, and throw.
  virtual void before_waiting() const {}

  // The queues on which pending work must end before the object is freed.
  virtual QueueSet awaited_queues() const noexcept = 0;

 private:
  friend struct Reaper;
  std::unique_ptr<Deferred> next_;
};

// Destroys `what` when all work that was submitted to its queues so far is done.  If the process
// ends or forks before that, `what` is never destroyed.
void free_after_work(std::unique_ptr<Deferred> what) noexcept;

// The number of objects that wait to be freed, and that of those that were freed so far.
std::size_t deferred_frees() noexcept;
std::uint64_t deferred_frees_done() noexcept;

// Waits, or until Ctrl-C, until more objects were freed than `done`.  False: no object waits to be
// freed, or the time is over.
bool wait_for_deferred_free(std::uint64_t done, std::chrono::milliseconds timeout);

// Whether this is the thread that frees, which must not wait for deferred frees.
bool is_freeing() noexcept;

// Waits until the background thread has looked at every waiting object, and has destroyed those
// without pending work; or until the time is over.  The caller must not hold the GIL.
void flush_deferred_frees(std::chrono::milliseconds timeout);

}  // namespace sycl_ext
