// SPDX-License-Identifier: Apache-2.0
// A queue of ours as `stream`, for the time of a call of a producer that shows no queue itself.
//
// An export has to ask the runtime for pending work as long as somebody else has the queue.  Most
// producers let go of the stream when they have ordered their work before it; then an export has to
// ask once more, and not for ever.  (A producer that keeps the stream has it until it lets go, and
// so has the traceback of an exception.)
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
  const Entry& entry_;
  PyRef& unused_;
  PyRef object_;
};

}  // namespace sycl_ext
