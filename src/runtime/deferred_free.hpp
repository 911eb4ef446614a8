// SPDX-License-Identifier: Apache-2.0
// What pending work may still touch is kept until that work is done, and is then freed by one
// thread in the background.  Whoever drops the last handle of a block goes on at once, whether it
// is Python with the GIL, a thread of the runtime in the middle of a command, or an interrupted
// copy.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <memory>

#include "runtime/queue.hpp"

namespace sycl_ext {

// The few queues whose work may touch one block.
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

  // The queues whose work it has to outlive, as long as they may have any.
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
