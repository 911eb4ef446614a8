// SPDX-License-Identifier: Apache-2.0
#include "base/shared_work.hpp"

#include <sched.h>

#include <atomic>
#include <condition_variable>
#include <exception>

#include "base/first_made.hpp"
#include "base/lock.hpp"
#include "base/thread.hpp"

namespace sycl_ext {

namespace {

// The pieces that are left of one call of share_work().  It is on the stack of that call.
struct Job {
  const std::function<void(std::size_t)>& piece;
  const std::size_t pieces;
  int wanted_helpers;  // under the lock
  int helpers = 0;     // that work on it now; under the lock
  std::atomic<std::size_t> next{0};

  void work() {
    for (std::size_t i = next++; i < pieces; i = next++) piece(i);
  }
};

class Crew {
 public:
  // False: the helpers are busy with another job.
  bool take(Job& job) {
    {
      const std::lock_guard<Mutex> lock(locks.shared_work);
      if (job_) return false;
      start(job.wanted_helpers);
      job_ = &job;
      given_.notify_all();
    }
    job.work();
    std::unique_lock<Mutex> lock(locks.shared_work);
    job_ = nullptr;  // no other thread joins from here on
    left_.wait(lock, [&job] { return job.helpers == 0; });
    return true;
  }

 private:
  // The caller holds the lock.
  void start(int wanted) noexcept {
    try {
      for (; helpers_ < wanted; ++helpers_) start_thread([this] { run(); });
    } catch (const std::exception&) {  // no memory for another thread now
    }
  }

  void run() {
    std::unique_lock<Mutex> lock(locks.shared_work);
    for (;;) {
      given_.wait(lock, [this] { return job_ && job_->wanted_helpers > 0; });
      Job& job = *job_;
      --job.wanted_helpers;
      ++job.helpers;
      lock.unlock();
      job.work();
      lock.lock();
      if (--job.helpers == 0) left_.notify_all();
    }
  }

  std::condition_variable_any given_, left_;
  Job* job_ = nullptr;
  int helpers_ = 0;
};

FirstMade<Crew, true> crews;  // a child does not have the threads

}  // namespace

int processors() noexcept {
  cpu_set_t mine;
  const bool is_known = sched_getaffinity(0, sizeof mine, &mine) == 0;
  return is_known ? CPU_COUNT(&mine) : 1;
}

void share_work(int threads, std::size_t pieces, const std::function<void(std::size_t)>& piece) {
  Job job{piece, pieces, threads - 1};
  if (threads > 1 && crews.get_once([] { return Crew(); }).take(job)) return;
  job.work();
}

}  // namespace sycl_ext
