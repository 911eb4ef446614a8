// SPDX-License-Identifier: Apache-2.0
#include "python/lazy_copy.hpp"

#include <thread>

#include "base/interruptible.hpp"
#include "base/lock.hpp"
#include "tensor/copy.hpp"

namespace sycl_ext {

namespace {

// Of what every lazy copy knows about its copier, and whether it is made.
Mutex& mutex = *new Mutex(Rank::lazy_copies);

struct MadeMeanwhile {};

}  // namespace

// The thread that copies, and the end of its attempt.
struct LazyCopy::Copier {
  const std::thread::id thread = std::this_thread::get_id();
  const int process = process_generation();
  Completion end;
};

bool LazyCopy::is_made() const {
  const std::lock_guard<Mutex> lock(mutex);
  return is_made_;
}

// A signal handler in the middle of the copy may need the bytes, and copies them itself.  From then
// on they are somebody's, and nobody writes them again.
void LazyCopy::copy() const {
  try {
    const AfterSignals handlers_ran([this] {
      if (is_made()) throw MadeMeanwhile();
    });
    copy_elements(target_, source_);
  } catch (const MadeMeanwhile&) {
  }
}

void LazyCopy::make() {
  const auto own = std::make_shared<Copier>();
  const auto end = [&](bool is_made) {
    const std::lock_guard<Mutex> lock(mutex);
    is_made_ = is_made_ || is_made;
    if (copier_ == own) copier_ = nullptr;
  };
  for (std::shared_ptr<Copier> other = own; other;) {
    {
      const std::lock_guard<Mutex> lock(mutex);
      if (is_made_) return;
      // A thread of the parent copies there, and not here.
      if (copier_ && copier_->process != own->process) copier_ = nullptr;
      other = copier_ && copier_->thread != own->thread ? copier_ : nullptr;
      if (!copier_) copier_ = own;
    }
    if (other) other->end.wait();
  }
  try {
    copy();
  } catch (...) {
    end(false);
    own->end.set();
    throw;
  }
  end(true);
  own->end.set();
}

}  // namespace sycl_ext
