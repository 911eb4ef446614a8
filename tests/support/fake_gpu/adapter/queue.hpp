// A queue: commands that wait for their turn, and the one thread that carries them out.
// Knows events.
//
// An in-order queue takes its oldest command. An out-of-order queue takes the NEWEST command that
// has nothing left to wait for, so that whatever may be overtaken is overtaken: a program that
// forgot a dependency gets the wrong answer every time, provided that the delay is long enough for
// it to submit both commands.
#pragma once

#include <deque>
#include <thread>

#include "event.hpp"

namespace fakegpu {

using EventRef = Ref<ur_event_handle_t_>;

// How a command stands to the other commands of an out-of-order queue.
enum class Fence {
  none,
  marker,   // without events to wait for: after all earlier commands
  barrier,  // as marker, and all later commands are after it
};

struct Command {
  EventRef event;
  std::vector<EventRef> inputs;  // named by the caller: a failed one fails the command
  std::vector<EventRef> before;  // implied by fences: order only
  std::function<void()> work;
  bool fails = false;
  bool is_fence = false;  // for all commands before it: it fails when one of them has failed
  ur_result_t earlier_failure = UR_RESULT_SUCCESS;

  bool is_ready() const;
  void run();
};

struct WaitList {
  uint32_t count;
  const ur_event_handle_t* events;
};

}  // namespace fakegpu

struct ur_queue_handle_t_ : fakegpu::Handle {
  ur_queue_handle_t_(ur_context_handle_t context, ur_device_handle_t device,
                     ur_queue_flags_t flags);

  ur_result_t submit(ur_command_t kind, fakegpu::Fence fence, fakegpu::WaitList waits,
                     ur_event_handle_t* out, std::function<void()> work);
  bool is_empty();
  ur_result_t finish();  // until nothing is left; the first failure since the last call
  void close();          // finish, and let the thread go

  const fakegpu::Ref<ur_context_handle_t_> context;
  const ur_device_handle_t device;
  const ur_queue_flags_t flags;
  // Programs that hold the queue. Events hold it too (references), but do not keep its thread.
  std::atomic<uint32_t> users{1};

 private:
  using Pending = std::deque<fakegpu::Command>;

  void work_until_closed();
  Pending::iterator next_command();  // end: nothing is ready
  void order(fakegpu::Command& command, fakegpu::Fence fence);

  const bool in_order_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable idle_;
  Pending pending_;
  fakegpu::EventRef running_;
  fakegpu::EventRef last_barrier_;
  ur_result_t take_failure();  // what nobody has been told of; the caller holds the lock

  fakegpu::EventRef first_failed_;
  bool closing_ = false;
  std::thread thread_;
};
