// SPDX-License-Identifier: Apache-2.0
// The lifetime of a block: who may have work on it, who frees it, and when.
//
// The last handle of a block may be dropped on any thread, with or without the GIL, and perhaps
// after the interpreter has ended.  That thread may belong to the runtime, and be in a command that
// the queue of the block waits for, so it neither waits nor asks the runtime.  If the counters
// leave it open whether work on the block is over, the background thread frees it (reaper.hpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/devices/entry.hpp"
#include "runtime/memory/reaper.hpp"
#include "runtime/sycl/queue.hpp"
#include "runtime/sycl/usm_kind.hpp"

namespace sycl_ext {

// The state of a block, of which every number can be read at any time by any thread.
//
// clang-format off
// | state    | who can submit work on the block                      | it ends with                  |
// |----------|-------------------------------------------------------|-------------------------------|
// | own      | this package, whose commands are known                | lend(), expose()              |
// | lent     | a device export, a view of an extension, or a holder  | the last give_back()          |
// |          | of the queue as well                                  |                               |
// | returned | this package; work of former holders may be pending  | lend(), expose(), seen_idle() |
// | exposed  | all code that got the address or the queue, for ever  | never                         |
// clang-format on
//
// In every state but `own`, the queues of third parties are asked before a block is freed or read:
// those of its entry, its own one, and those that consumers named (NamedQueues).
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
  // Work on the block needs its address as well.  A third party learns the address by an export,
  // which is counted, or by a host view, whose end cannot be observed.  So a block whose
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

// The queues that the consumers of a block have named for their work on it
// (__dlpack__(stream=queue)): a list in one of three states.  In the two last ones its queues are
// asked before the block is freed or read, as well as those that are asked without being named.
//
// clang-format off
// | state  | the list is                        | because                                             | it ends with                 |
// |--------|------------------------------------|-----------------------------------------------------|------------------------------|
// | empty  | no queue                           | no consumer named one; or all work on them is over  | add()                        |
// | named  | the queues that were named         | work of their consumers may be pending there        | replace(), clear(); add() adds |
// | behind | one queue                          | what comes later there comes after all named queues | replace(), clear(); add() adds |
// clang-format on
//
// A queue never leaves the list singly: replace() and clear() drop the whole list, and only if
// every consumer had given the block back before the queues were asked and no consumer has got it
// since (BlockUse::all_given_back). A consumer gets the block before it names its queue, so no
// queue is missed.  The queue of an export that was not used also stays until then, because an
// earlier consumer may have named the same queue.
class NamedQueues {
 public:
  bool empty() const noexcept { return is_empty_.load(std::memory_order_acquire); }
  // The current list; nullptr: it is empty.
  QueueList list() const noexcept;

  // A consumer that has the block names the queue.
  void add(const Queue& queue);
  // All work of consumers that had given the block back `before` (BlockUse::before_question) ends
  // before later work on `queue`. So `queue` stands for the queues of these consumers from now on.
  void replace(const Queue& queue, const BlockUse& use, std::uint64_t before);
  // All of that work is over, or ends before later work on a queue that is asked anyway.
  void clear(const BlockUse& use, std::uint64_t before) noexcept;

 private:
  void exchange_list(QueueList list, const BlockUse& use, std::uint64_t before) noexcept;

  QueueList list_;  // under locks.named_queues
  std::atomic<bool> is_empty_{true};
};

// Who owns the memory of a block.
enum class BlockOwner : std::uint8_t {
  package,     // this package allocated it
  block,       // it is a part of another block, which is kept
  other_code,  // perhaps Python: the GIL is taken to release it
};

// A block of a fixed kind and entry, without the handles of it (usm.hpp).
class Lifetime : public Deferred {
 public:
  std::byte* const data;  // nullptr when nbytes is 0
  const std::size_t nbytes;
  const UsmKind kind;
  const Entry* const entry;  // nullptr: plain host memory without a device
  const Queue own_queue;     // empty: the queue of the entry is used
  const BlockOwner owner;
  mutable BlockUse use;

  Lifetime(void* data, std::size_t nbytes, UsmKind kind, const Entry* entry, BlockOwner owner,
           Queue&& own_queue) noexcept
      : data(static_cast<std::byte*>(data)),
        nbytes(nbytes),
        kind(kind),
        entry(entry),
        own_queue(std::move(own_queue)),
        owner(owner) {}

  // Called with the last handle.  The block is freed here if no queue has work on it by the
  // counters, and by the background thread if any may have.
  static void end(std::unique_ptr<Lifetime> block) noexcept;

  bool is_ours() const noexcept { return owner == BlockOwner::package; }

  // The queue that third parties get for work on the block: the block's own queue, or that of the
  // entry.  Empty if there is no entry.
  const Queue& queue() const { return own_queue || !entry ? own_queue : entry->queue(); }

  // From now on third parties can submit work on the block, because they have the address or the
  // queue.  This fetches the queues of such work.
  void expose() const;
  // A third party gets the queue of the block, and can submit work on the block while it holds that
  // queue.  A block's own queue was supplied by the caller, so nothing changes hands.
  void show_queue() const;
  // Fetches the queues of third-party work, so that they can be asked without the GIL.
  void fetch_queues() const;

  // The queues on which work on the block may be pending.  Does not ask the runtime.
  //
  // One is the entry's queue for commands of this package.  If third parties can submit work on
  // the block, the others are the block's own queue, the queues of its entry, the queues that
  // consumers named, and the queues of the root device, because memory of a sub-device is exported
  // under the id of its root device.  Other code can submit work while it holds the block (InUse),
  // and until the queues were seen idle after the last such holder has gone.  It always can for
  // memory or a queue that it provided.  (BlockUse has the states.)
  QueueSet busy_queues() const noexcept { return busy_queues(asks_queues_of_others()); }
  // The same queues, with or without those for third-party work.
  QueueSet busy_queues(bool of_others) const noexcept;
  // The same queues, for a caller that asks them now.  If dpctl was loaded since the block was
  // handed out, its queues are among them.
  QueueSet queues_to_ask() const;
  // Whether all work on the block is over, as far as this process can know.  `unknown` also if a
  // copy has failed and only a wait reports it, and in a forked child, whose parent may have
  // submitted work.  It never waits.  Releases the GIL, unless it asks counters alone.
  Work work(How how) const;
  // Waits for all work on the block, without the GIL. `mark_reported`: the failure of a copy
  // is reported only this once.
  void wait_for_work(bool mark_reported = true) const {
    if (work(How::counters) != Work::none) wait_for_queues(mark_reported);
  }

  // A consumer that has the block (BlockUse::lend) names the queue of its work.  From then on that
  // queue is asked whenever third-party work on the block may be pending.
  void name_queue(const Queue& queue) const;
  // Later work on `queue` comes after all work of consumers that had given the block back `before`
  // (before_question). So `queue` replaces the queues that these consumers named, which would
  // otherwise be kept as long as the block.
  void replace_named_queues(const Queue& queue, std::uint64_t before) const;
  // The owner of a borrowed block waits for work on it, unless this package passed the block on to
  // a third party.
  QueueSet awaited_queues() const noexcept override {
    return busy_queues(may_have_work_of_others());
  }
  void before_waiting() const override {
    if (may_have_work_of_others()) fetch_queues();
  }

 private:
  // Whether only the background thread may release the owner, because this thread would have to
  // take the GIL for that.
  bool defers_owner() const noexcept;
  // Whether a third party got the block, named a queue for work on it, or provided its queue.
  bool may_have_work_of_others() const noexcept {
    return own_queue || !named_queues_.empty() || use.may_have_work_of_others();
  }
  bool asks_queues_of_others() const noexcept {
    return may_have_work_of_others() || (!is_ours() && kind != UsmKind::system);
  }
  // Whether the queue is asked even if no consumer names it.
  bool always_asks(const Queue& queue) const noexcept;
  void wait_for_queues(bool mark_reported) const;
  Work ask_queues(How how) const;
  // The queues were idle, for all holders that had given the block back before.
  void note_idle(std::uint64_t before) const noexcept;

  mutable NamedQueues named_queues_;
};

}  // namespace sycl_ext
