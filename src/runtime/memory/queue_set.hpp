// SPDX-License-Identifier: Apache-2.0
// The queues on which work on a block may be pending.
#pragma once

#include <algorithm>
#include <array>
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
  std::array<const Queue*, 5> queues_{};  // the most that Allocation::busy_queues() finds
  std::size_t size_ = 0;
  QueueList list_;
};

}  // namespace sycl_ext
