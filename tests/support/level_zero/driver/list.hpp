// Command lists and queues: what carries out commands, one after the other, on a thread.
//
// A command queue and an immediate command list are the same here; an ordinary list keeps its
// commands until a queue is given them.  Of the commands that may run, on whichever list, the one
// that was submitted last runs, and the others wait: what may be overtaken is overtaken.
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
  enum class Kind { ordinary, immediate };

  List(Kind kind, bool synchronous, bool in_order);
  ~List();  // carries out pending commands

  ze_result_t append(Command command);
  void execute(List& ordinary);  // on a queue: what an ordinary list has recorded
  void clear() { recorded_.clear(); }
  bool wait(std::uint64_t nanoseconds);
  bool is_immediate() const { return kind_ == Kind::immediate; }
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
  struct Outcome {
    FailurePointer failure;  // null: it did not fail
    std::uint64_t begin, end;
  };

  void submit(const Command& command);
  void run();
  std::deque<Pending>::iterator next();  // end: none may run
  Outcome carry_out(Pending& pending);

  const Kind kind_;
  const bool synchronous_, in_order_;
  std::vector<Command> recorded_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Pending> pending_;
  bool busy_ = false, stop_ = false;
  const FailurePointer failure_ = std::make_shared<Failure>();
  std::thread thread_;
};

void wait_for_all_lists();

}  // namespace stand_in
