// SPDX-License-Identifier: Apache-2.0
// The holders of a block, and whether other code may have submitted work on it.  The last holder
// learns from it whether the block can be freed at once.
#pragma once

#include <atomic>
#include <cstdint>

namespace sycl_ext {

// The state of a block, of which every number can be read at any time by any thread.
//
// clang-format off
// | state    | who can submit work on the block                      | it ends with                  |
// |----------|-------------------------------------------------------|-------------------------------|
// | own      | this package, whose commands are known                | lend(), expose()              |
// | lent     | a device export, a view of an extension, or a holder  | the last give_back()          |
// |          | of the queue as well                                  |                               |
// | returned | no other code any more, but its work may be pending   | lend(), expose(), seen_idle() |
// | exposed  | all code that got the address or the queue, for ever  | never                         |
// clang-format on
//
// In every state but `own`, the queues of other code are asked before the block is freed or read:
// those of its entry, its own one, and those that consumers named (named_queues.hpp).
//
// A stream of CUDA or HIP that a consumer works on cannot be asked.  A block that was exported for
// one is `untraced`: it is freed by a call that waits for the device, and is not used again.
//
// The state does not depend on the number of handles.  One count is of all handles: the last handle
// frees the block.  Another is of the handles that outlive the call that made them (MemoryKeeper in
// usm.hpp).
class BlockUse {
 public:
  enum class State { own, lent, returned, exposed };

  State state() const noexcept {
    if (exposed_.load(std::memory_order_acquire)) return State::exposed;
    const std::uint64_t lent = lent_.load(std::memory_order_acquire);
    if (lent == seen_idle_.load(std::memory_order_acquire)) return State::own;
    return lent == given_back_.load(std::memory_order_acquire) ? State::returned : State::lent;
  }
  bool may_have_work_of_others() const noexcept { return state() != State::own; }

  // `lend`: a holder that can submit work gets the block.  `give_back`: that holder no longer has
  // it.  `give_back_unused`: that holder no longer has it, and has certainly submitted nothing.
  void lend() noexcept { lent_.fetch_add(1, std::memory_order_relaxed); }
  void give_back() noexcept { given_back_.fetch_add(1, std::memory_order_release); }
  void give_back_unused() noexcept { lent_.fetch_sub(1, std::memory_order_release); }
  void expose() noexcept {
    if (!exposed_.load(std::memory_order_relaxed)) {
      exposed_.store(true, std::memory_order_release);
    }
  }

  // Other code gets the queue of the block (lend), and no code holds that queue any more
  // (give_back). Both are called with the GIL.
  //
  // Work on the block needs its address as well.  Other code learns the address by an export, which
  // counts itself; or by a view of the host, of which nobody knows when it ends.  So a block whose
  // queue was shown at any time, and of which the host has had a view, is exposed for ever.
  void show_queue() noexcept {
    if (shown_.load(std::memory_order_relaxed) == Shown::now) return;
    shown_.store(Shown::now, std::memory_order_relaxed);
    lend();
    if (has_host_view()) expose();
  }
  void take_queue_back() noexcept {
    shown_.store(Shown::before, std::memory_order_relaxed);
    give_back();
  }
  bool is_queue_shown() const noexcept {
    return shown_.load(std::memory_order_relaxed) == Shown::now;
  }

  // A consumer gets the block whose stream cannot be asked whether work is pending.
  void lose_track() noexcept { untraced_.store(true, std::memory_order_release); }
  bool is_untraced() const noexcept { return untraced_.load(std::memory_order_acquire); }

  // The host gets a view of the block.  Other code may return that view as host memory; the block
  // is then exposed.  True: this is the first such view.
  bool note_host_view() noexcept {
    const bool had_view = has_host_view_.exchange(true);
    if (shown_.load(std::memory_order_relaxed) != Shown::never) expose();
    return !had_view;
  }
  bool has_host_view() const noexcept { return has_host_view_; }

  // Called before the queues of the block are asked.  If they turn out to be idle, the number is
  // passed to seen_idle(). It does not cover holders that give the block back later.
  std::uint64_t before_question() const noexcept {
    return given_back_.load(std::memory_order_acquire);
  }
  void seen_idle(std::uint64_t before) noexcept {
    seen_idle_.store(before, std::memory_order_release);
  }
  // Whether every holder had given the block back before the question, and no holder has got it
  // since.
  bool all_given_back(std::uint64_t before) const noexcept {
    return lent_.load(std::memory_order_acquire) == before;
  }

  void add_handle() noexcept { handles_.fetch_add(1, std::memory_order_relaxed); }
  // Drops a handle.  True: it was the last one.
  bool drop_handle() noexcept { return handles_.fetch_sub(1, std::memory_order_acq_rel) == 1; }
  bool has_one_handle() const noexcept { return handles_.load(std::memory_order_acquire) == 1; }

  void add_keeper() noexcept { keepers_.fetch_add(1, std::memory_order_relaxed); }
  void drop_keeper() noexcept { keepers_.fetch_sub(1, std::memory_order_release); }
  std::uint32_t keepers() const noexcept { return keepers_.load(std::memory_order_acquire); }

 private:
  enum class Shown : std::uint8_t { never, now, before };

  std::atomic<std::uint32_t> handles_{1}, keepers_{0};
  // Three counts, each never smaller than the next: how often the block was lent so far, how often
  // it was given back so far, and how often it had been given back when its queues were last seen
  // idle.
  std::atomic<std::uint64_t> lent_{0}, given_back_{0}, seen_idle_{0};
  std::atomic<bool> exposed_{false}, untraced_{false}, has_host_view_{false};
  std::atomic<Shown> shown_{Shown::never};  // the queue
};

}  // namespace sycl_ext
