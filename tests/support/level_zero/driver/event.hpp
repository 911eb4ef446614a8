// Events and event pools, and the signal that a command sends when it is done.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "handle.hpp"
#include "spec.hpp"

namespace stand_in {

constexpr std::uint64_t kForEver = ~0ull;

// Whether a command of a list has failed.  The commands after it fail as well, as they do not run
// on a GPU that hangs, until somebody who waits has been told; then the list works again.
class Failure {
 public:
  void happen() { untold_ = true; }
  bool untold() const { return untold_; }
  bool tell() { return untold_.exchange(false); }

 private:
  std::atomic<bool> untold_{false};
};

using FailurePointer = std::shared_ptr<Failure>;

// One command's end.
class Signal {
 public:
  explicit Signal(bool done) : done_(done) {}

  // With the failure of its list, if it has failed.
  void set(FailurePointer failure = nullptr);
  void reset();
  bool is_set();
  // Whether it came within that time.
  bool wait(std::uint64_t nanoseconds);
  // Told once to somebody who waited, and to everybody who only asks.
  bool failed(bool tell);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_;
  FailurePointer failure_;
};

using SignalPointer = std::shared_ptr<Signal>;

// A counter-based event stands for the last command that was given it, and is never reset; any
// other stands for one signal.
class Event : public Object {
 public:
  explicit Event(bool counter_based);

  SignalPointer current();    // the value that a wait is for
  SignalPointer to_signal();  // the value that a command sends that is appended now

 private:
  const bool counter_based_;
  std::mutex mutex_;
  SignalPointer signal_;
};

std::vector<SignalPointer> signals_of(std::uint32_t count, ze_event_handle_t* events);
SignalPointer signal_for(ze_event_handle_t event);  // null for none

}  // namespace stand_in
