// SPDX-License-Identifier: Apache-2.0
// Memory that pending work may still use is kept until that
// work is done; one background thread then frees it. Dropping the last handle of a block returns at
// once, in Python with the GIL, in a thread of the runtime in the middle of a command, and after an
// interrupted copy.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>

#include "runtime/queue.hpp"

namespace sycl_ext {

// The few queues with work that may use a block.
class QueueSet {
 public:
  static constexpr std::size_t capacity = 5;

  void add(const Queue& queue) noexcept { queues_[size_++] = &queue; }
  const Queue* const* begin() const noexcept { return queues_.data(); }
  const Queue* const* end() const noexcept { return queues_.data() + size_; }
  bool empty() const noexcept { return size_ == 0; }
  // The same queues, in the same order.
  bool operator==(const QueueSet& other) const noexcept {
    return std::equal(begin(), end(), other.begin(), other.end(),
                      [](const Queue* a, const Queue* b) { return *a == *b; });
  }

 private:
  std::array<const Queue*, capacity> queues_{};
  std::size_t size_ = 0;
};

// What can be left to the thread that frees.  It carries its own place in the thread's list, so
// leaving it there takes no memory and cannot fail.  The destructor frees it, on any thread.
class Deferred {
 public:
  Deferred() = default;
  virtual ~Deferred() = default;
  Deferred(const Deferred&) = delete;
  Deferred& operator=(const Deferred&) = delete;

  // The queues with work that it must outlive, as long as they may have any.
  virtual QueueSet awaited_queues() const noexcept = 0;

 private:
  friend class Reaper;
  Deferred* next_ = nullptr;
};

// Destroys `what` when the work that was submitted to its queues so far is done.  It may be
// destroyed never: when the process ends before, and when it was forked.
void free_after_work(std::unique_ptr<Deferred> what) noexcept;

// How many of those there are.
std::size_t deferred_frees() noexcept;

// Whether some of those may go while this thread waits: it is not the one that frees them.
bool may_wait_for_deferred_frees() noexcept;

// Waits until all that was deferred before has been looked at, and dropped where nothing is
// pending; or the time is over.  Must not hold the GIL.
void settle_deferred_frees(std::chrono::milliseconds timeout);

// Waits until something was dropped, or nothing is left to be dropped, or the time is over.  True:
// something was.  Must not hold the GIL.
bool wait_for_deferred_free(std::chrono::milliseconds timeout);

}  // namespace sycl_ext
