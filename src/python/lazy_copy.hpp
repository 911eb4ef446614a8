// SPDX-License-Identifier: Apache-2.0
// The bytes of a host view that is a copy: copied when they are first needed.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "tensor/tensor.hpp"

namespace sycl_ext {

// Made once, by the first thread that needs it; the others wait.
class LazyCopy : public std::enable_shared_from_this<LazyCopy> {
 public:
  LazyCopy(Tensor target, Tensor source) : target_(std::move(target)), source_(std::move(source)) {}

  // Must not hold the GIL.  No lock is held during the copy, in which signal handlers may run.
  void make();

 private:
  // Unlocks while this thread copies.
  class Copying {
   public:
    Copying(LazyCopy* copy, bool is_nested, std::unique_lock<std::mutex>* lock)
        : copy_(copy), is_nested_(is_nested), lock_(lock) {
      copy->copies_ = true;
      copy->copier_ = std::this_thread::get_id();
      lock->unlock();
    }
    ~Copying() {
      if (is_nested_) return;
      if (!lock_->owns_lock()) lock_->lock();
      copy_->copies_ = false;
      copy_->changed_.notify_all();
    }
    Copying(const Copying&) = delete;
    Copying& operator=(const Copying&) = delete;

   private:
    LazyCopy* const copy_;
    const bool is_nested_;
    std::unique_lock<std::mutex>* const lock_;
  };

  const Tensor target_, source_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool copies_ = false, is_made_ = false;
  bool in_child_ = false;  // whether the copying thread is one of a forked child
  std::thread::id copier_;
};

}  // namespace sycl_ext
