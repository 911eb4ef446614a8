// SPDX-License-Identifier: Apache-2.0
#include "base/fork.hpp"

#include <pthread.h>

#include <atomic>
#include <mutex>

namespace sycl_ext {

namespace {

std::atomic<bool> watched{false}, forked{false};

}  // namespace

// The list of handlers.  Never destroyed: a handler may go after the static destructors.
struct ForkHandlers {
  std::mutex mutex;
  ForkHandler* first = nullptr;

  static ForkHandlers& instance() {
    static ForkHandlers* const list = new ForkHandlers;
    return *list;
  }
  ForkHandlers() {
    pthread_atfork([] { instance().before(); }, [] { instance().in_parent(); },
                   [] { instance().in_child(); });
  }
  void add(ForkHandler* handler) noexcept {
    const std::lock_guard<std::mutex> lock(mutex);
    handler->next_ = first;
    if (first) first->previous_ = handler;
    first = handler;
  }
  void remove(ForkHandler* handler) noexcept {
    const std::lock_guard<std::mutex> lock(mutex);
    (handler->previous_ ? handler->previous_->next_ : first) = handler->next_;
    if (handler->next_) handler->next_->previous_ = handler->previous_;
  }
  // No thread holds two of the handlers' locks, so their order does not matter.
  void before() noexcept {
    mutex.lock();
    for (ForkHandler* one = first; one; one = one->next_) one->before_fork();
  }
  void in_parent() noexcept {
    for (ForkHandler* one = first; one; one = one->next_) one->after_fork_in_parent();
    mutex.unlock();
  }
  void in_child() noexcept {
    if (watched) forked = true;
    for (ForkHandler* one = first; one; one = one->next_) one->after_fork_in_child();
    mutex.unlock();
  }
};

ForkHandler::ForkHandler() { ForkHandlers::instance().add(this); }
ForkHandler::~ForkHandler() { ForkHandlers::instance().remove(this); }

bool is_forked_child() noexcept { return forked.load(std::memory_order_relaxed); }

void watch_for_forks() {
  ForkHandlers::instance();
  watched = true;
}

}  // namespace sycl_ext
