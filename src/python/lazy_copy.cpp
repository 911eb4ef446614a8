// SPDX-License-Identifier: Apache-2.0
#include "python/lazy_copy.hpp"

#include "base/fork.hpp"
#include "base/interruptible.hpp"
#include "tensor/copy.hpp"

namespace sycl_ext {

namespace {
struct MadeMeanwhile {};
}  // namespace

void LazyCopy::make() {
  for (;;) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (is_made_) return;
    if (copies_ && in_child_ != is_forked_child()) copies_ = false;  // that thread is the parent's
    const bool is_ours = copies_ && copier_ == std::this_thread::get_id();
    if (is_ours || !copies_) {
      in_child_ = is_forked_child();
      const Copying copying(this, is_ours, &lock);
      try {
        // A signal handler in the middle of the copy may need the bytes, and copies them itself.
        // From then on they are somebody's, and nobody writes them again.
        const AfterSignals handlers_ran([this] {
          const std::lock_guard<std::mutex> held(mutex_);
          if (is_made_) throw MadeMeanwhile();
        });
        copy_elements(target_, source_);
      } catch (const MadeMeanwhile&) {
        return;
      }
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
