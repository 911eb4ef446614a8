// SPDX-License-Identifier: Apache-2.0
// Copies that go on while their caller does: what each of them reads and writes, until it is done.
//
// Whoever reads memory, writes to it or hands it out waits for the copies that concern it.  They
// are found by address, because one block may have several handles.  A copy is one command of a
// queue, or the work of a detached thread; it comes after the copies that were begun before it and
// concern its memory, and never waits for a later one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "base/fork.hpp"
#include "base/interruptible.hpp"
#include "runtime/queue.hpp"

namespace sycl_ext {

class Allocation;

// The bytes of a block, from the lowest to behind the highest.
struct Bytes {
  const std::byte *begin, *end;

  bool overlap(const Bytes& other) const noexcept { return begin < other.end && other.begin < end; }
};

class PendingCopy {
 public:
  struct What {
    std::shared_ptr<const Allocation> target, source;  // kept until it is done
    Bytes written, read;
    // As long as it lives, somebody may read what was written, and is to be told of an error.
    std::weak_ptr<const Allocation> block;
  };

  // One that was done at once.
  static std::shared_ptr<PendingCopy> none();
  // A copy by a thread.  `body` keeps the memory by itself.
  static std::shared_ptr<PendingCopy> by_thread(const What& what, std::function<void()> body);
  // A command that was submitted to a queue.
  static std::shared_ptr<PendingCopy> by_command(const What& what, const Queue& queue,
                                                 const Event& event);

  // The functions below must not be called with the GIL held.

  // Whether wait() returns, or raises, at once.
  bool is_done();
  // Blocks until it is done, or a signal handler raises; raises what went wrong in it.
  void wait();
  // The same for who uses memory that it concerns: an error of the copy is raised once, and not for
  // memory that it only reads.
  void wait_to_use(const Bytes& bytes);
  // The command; empty: a thread does it.
  const Event& event() const noexcept { return event_; }

  PendingCopy(const PendingCopy&) = delete;
  PendingCopy& operator=(const PendingCopy&) = delete;

 private:
  friend class PendingCopies;
  PendingCopy(const What& what, Event event);

  bool concerns(const Bytes& bytes, bool writes) const noexcept {
    return bytes.overlap(written_) || (writes && bytes.overlap(read_));
  }
  void finish();

  const Bytes written_, read_;
  const std::weak_ptr<const Allocation> block_;
  const Event event_;
  const int process_ = process_generation();
  Completion completion_;  // after is_over_
  // Under the lock of the table of all.
  std::uint64_t number_ = 0;
  bool is_over_ = false, is_told_ = false;
  std::exception_ptr error_;
};

// How many there are in the process.
inline std::atomic<std::size_t> pending_copies_now{0};
inline bool any_pending_copies() noexcept {
  return pending_copies_now.load(std::memory_order_acquire) != 0;
}
// Whether one concerns the bytes, which who asks reads, and writes to if he says so.  A thread that
// carries out a copy sees those alone that were begun before it.
bool has_pending_copies(const Bytes& bytes, bool writes = true) noexcept;
// Those, oldest first.
std::vector<std::shared_ptr<PendingCopy>> pending_copies(const Bytes& bytes, bool writes = true);
// Waits for those.
void wait_for_copies(const Bytes& bytes, bool writes = true);
// Later work on the queue sees those: by an event dependency, or after a wait on the host.
void order_after_copies(const Queue& queue, const Bytes& bytes);

}  // namespace sycl_ext
