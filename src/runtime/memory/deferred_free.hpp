// SPDX-License-Identifier: Apache-2.0
// Dropping the last handle of a block asks and waits for nothing.  If work on the block may be
// pending, one background thread frees it when that work is done.  The handle may be dropped in
// Python with the GIL, in a thread of the runtime during a command, or after an interrupted copy,
// where a question would be a deadlock, and a wait too long.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include "runtime/memory/queue_set.hpp"

namespace sycl_ext {

// An object that the background thread frees, by its destructor.  The object contains its link in
// the list of that thread, so handing it over takes no memory and cannot fail.
class Deferred {
 public:
  virtual ~Deferred() = default;

  // The queues on which pending work must end before the object is freed.
  virtual QueueSet awaited_queues() const noexcept = 0;

 private:
  friend struct Reaper;
  std::unique_ptr<Deferred> next_;
};

// Destroys `what` when all work that was submitted to its queues so far is done.  If the process
// ends or forks before that, `what` is never destroyed.
void free_after_work(std::unique_ptr<Deferred> what) noexcept;

// The number of objects that wait to be freed.
std::size_t deferred_frees() noexcept;

// Whether this is the thread that frees, which must not wait for deferred frees.
bool is_freeing() noexcept;

// Waits until the background thread has looked at every waiting object, and has destroyed those
// without pending work; or until the time is over.  The caller must not hold the GIL.
void flush_deferred_frees(std::chrono::milliseconds timeout);

}  // namespace sycl_ext
