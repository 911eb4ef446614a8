// SPDX-License-Identifier: Apache-2.0
// fork(): the one place of its handlers, and the order of all locks.
//
// The child has one thread, the one that forked.  A lock that another thread held stays locked
// there for ever, so every lock of the core (lock.hpp) is taken before the fork and released after
// it; and what threads of the core were doing is not done in the child.
//
// The CPU device works in a child.  The driver of a GPU does not: its threads are gone, and a wait
// would have no end (https://github.com/intel/compute-runtime/issues/954).
#pragma once

#include <cstdint>

#include "base/error.hpp"

namespace sycl_ext {

// The order in which a thread takes locks, and a fork takes all of them.  A thread holds at most
// one lock of each rank.
enum class Rank {
  runtime_calls,  // no lock: a fork first waits for the brief calls of the SYCL runtime
  // The runtime is called under these, so that one thread asks it, or registers memory with it.
  default_device,
  unlisted_devices,
  enumeration,
  reference_queue,
  sub_devices,
  host_registrations,
  // Neither the runtime nor Python is called under the others.
  device_table,
  extents,
  deferred_frees,
  async_errors,
  pools,
};

// Something that a fork concerns, for as long as the process lives.  Its functions run in the
// thread that forks.  It is made by threads that hold no lock, and never by the initialization of a
// function static: a child would wait for that for ever.
class AtFork {
 public:
  AtFork(const AtFork&) = delete;
  AtFork& operator=(const AtFork&) = delete;

  static bool is_a_lock_held() noexcept { return held_ != 0; }  // by this thread

 protected:
  explicit AtFork(Rank rank) noexcept;

  // The ranks whose locks this thread holds, a bit for each.
  static inline __thread std::uint32_t held_ __attribute__((tls_model("initial-exec"))) = 0;
  const Rank rank_;

 private:
  friend struct ForkList;
  virtual void before_fork() noexcept {}
  virtual void after_fork(bool in_child) noexcept = 0;

  AtFork* next_ = nullptr;
};

// One T for the process.  A forked child begins with a new one, and leaves the old one as it was:
// threads that are gone may have been in the middle of it.  Never destroyed.
template <class T>
class PerProcess final : AtFork {
 public:
  PerProcess() : AtFork(Rank::runtime_calls) {}
  T* operator->() const noexcept { return now_; }
  T& operator*() const noexcept { return *now_; }

 private:
  void after_fork(bool in_child) noexcept override {
    if (in_child) now_ = new T();
  }
  T* now_ = new T();
};

// The number of forks between the first process and this one.
int process_generation() noexcept;
// Whether this process was forked from one that had used the SYCL runtime.
bool is_forked_child() noexcept;
// From now on a child counts as forked; to be called when the runtime is used for the first time.
void watch_for_forks() noexcept;

// Error(runtime) in a forked child, unless the device is a CPU.  `is_cpu` is not asked elsewhere.
template <class IsCpu>
void require_not_forked(const IsCpu& is_cpu) {
  if (!is_forked_child() || is_cpu()) return;
  fail(Error::Kind::runtime,
       "this process was forked from one that had used its SYCL devices, and a GPU does not work "
       "after that; start processes with the method 'spawn' or 'forkserver', or copy to the host "
       "before the fork");
}

}  // namespace sycl_ext
