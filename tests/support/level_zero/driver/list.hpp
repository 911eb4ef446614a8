// Command lists and queues: what carries out commands, one after the other, on a thread.
//
// The adapters use immediate command lists, and no others.  Of the commands that may run, on
// whichever list, the one that was submitted last runs, and the others wait: what may be overtaken
// is overtaken.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "device.hpp"
#include "event.hpp"

namespace stand_in {

using Work = std::function<void()>;

// How a command stands to the others of a list that is not in order.
enum class Fence { none, after_earlier, before_later, both };

struct Command {
  Fence fence;
  std::vector<SignalPointer> waits;
  std::function<Work()> submit;  // claims the memory, and returns the work; may be empty
  SignalPointer signal;          // may be null
};

class List : public Object {
 public:
  List(bool synchronous, bool in_order);
  ~List();  // carries out pending commands

  ze_result_t append(Command command);
  bool wait(std::uint64_t nanoseconds);
  bool failed(bool tell) { return tell ? failure_->tell() : failure_->untold(); }

 private:
  struct Pending {
    Fence fence;
    std::vector<SignalPointer> waits;
    Work work;
    SignalPointer signal;
    std::uint64_t number;  // in the order of all lists' submissions
    bool fails = false;
  };

  void run();
  std::deque<Pending>::iterator next();        // end: none may run
  FailurePointer carry_out(Pending& pending);  // null: it did not fail

  const bool synchronous_, in_order_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Pending> pending_;
  bool busy_ = false, stop_ = false;
  const FailurePointer failure_ = std::make_shared<Failure>();
  std::thread thread_;
};

void wait_for_all_lists();

}  // namespace stand_in
