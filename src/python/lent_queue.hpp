// SPDX-License-Identifier: Apache-2.0
// A queue of ours as `stream`, for the time of a call of a producer that shows no queue itself.
//
// An export has to ask the runtime for pending work as long as somebody else has the queue.  Most
// producers let go of the stream when they have ordered their work before it; then an export has to
// ask once more, and not for ever.
#pragma once

#include "python/gil.hpp"
#include "runtime/device_table.hpp"
#include "runtime/queue.hpp"

namespace sycl_ext {

// Made and ended with the GIL.
class LentQueue {
 public:
  explicit LentQueue(const Entry& entry);
  ~LentQueue();
  LentQueue(const LentQueue&) = delete;
  LentQueue& operator=(const LentQueue&) = delete;

  PyObject* get() const noexcept { return object_.get(); }  // a dpctl.SyclQueue, borrowed

 private:
  struct Kept;  // the object of an entry

  Kept* const kept_;  // nullptr: made for this loan
  const PyRef object_;
  QueueLoan loan_;  // ends while the object is there
};

}  // namespace sycl_ext
