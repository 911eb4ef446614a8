// SPDX-License-Identifier: Apache-2.0
// Memory with pending work is kept until that work is done; one background thread then frees it.
// Dropping the last handle of a block returns at once: in Python with the GIL, in a thread of the
// runtime during a command, and after an interrupted copy.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "runtime/memory/queue_set.hpp"

namespace sycl_ext {

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
void flush_deferred_frees(std::chrono::milliseconds timeout);

}  // namespace sycl_ext
