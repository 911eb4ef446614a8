// SPDX-License-Identifier: Apache-2.0
#include "python/lazy_copy.hpp"

#include "base/interruptible.hpp"
#include "tensor/copy.hpp"

namespace sycl_ext {

void LazyCopy::make() {
  for (;;) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (is_made_) return;
    const bool is_ours = copies_ && copier_ == std::this_thread::get_id();
    if (is_ours || !copies_) {
      const Copying copying(this, is_ours, &lock);
      copy_elements(target_, source_);  // the second time in a signal handler of the first
      lock.lock();
      is_made_ = true;
      return;
    }
    lock.unlock();
    // When a signal ends the wait, this may be the last handle.
    wait_interruptibly([self = shared_from_this()] {
      std::unique_lock<std::mutex> lock(self->mutex_);
      self->changed_.wait(lock, [&self] { return !self->copies_; });
    });
  }
}

}  // namespace sycl_ext
