// An event: the outcome of one command, and who wants to hear of it.
// Knows contexts; of queues it knows the name only.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

#include "context.hpp"

struct ur_event_handle_t_ : fakegpu::Handle {
  ur_event_handle_t_(ur_queue_handle_t queue, ur_command_t command);
  ~ur_event_handle_t_();

  bool is_done() const { return done_; }
  bool has_succeeded() const { return done_ && outcome_ == UR_RESULT_SUCCESS; }
  ur_result_t wait();  // for the end of the command; its outcome

  // Runs `then` when the command has ended, on the thread that ended it, or now if it has.
  void when_done(std::function<void()> then);

  void finish(ur_result_t outcome, uint64_t started);

  const fakegpu::Ref<ur_queue_handle_t_> queue;
  std::atomic<bool> is_told{false};  // somebody who waited for it has seen its failure
  const ur_command_t command;
  const uint64_t submitted_at;
  uint64_t started_at = 0;  // these two are written before the event is done, read after
  uint64_t ended_at = 0;

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<std::function<void()>> listeners_;
  ur_result_t outcome_ = UR_RESULT_SUCCESS;
  std::atomic<bool> done_{false};
};
