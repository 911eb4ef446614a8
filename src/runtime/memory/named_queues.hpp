// SPDX-License-Identifier: Apache-2.0
// The queues that the consumers of a block have named for their work on it
// (__dlpack__(stream=queue)).
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/memory/block_use.hpp"
#include "runtime/memory/queue_set.hpp"

namespace sycl_ext {

// The list of a block, in one of three states.  In the two last ones its queues are asked before
// the block is freed or read, as well as those that are asked without being named.
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

}  // namespace sycl_ext
