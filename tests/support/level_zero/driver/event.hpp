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

// A word in memory that processes share: whether a signal of one of them was set.
class SharedFlag {
 public:
  explicit SharedFlag(int file);  // takes the file of a page
  ~SharedFlag();
  SharedFlag(const SharedFlag&) = delete;

  int file() const { return file_; }
  void set() { *word_ = 1; }
  bool is_set() const { return *word_ != 0; }

 private:
  const int file_;
  std::atomic<std::uint32_t>* const word_;
};

using SharedFlagPointer = std::shared_ptr<SharedFlag>;

// One command's end.
class Signal {
 public:
  explicit Signal(bool done) : done_(done) {}
  // Set by another process.
  explicit Signal(SharedFlagPointer elsewhere) : done_(false), elsewhere_(std::move(elsewhere)) {}

  // With the failure of its list, if it has failed.
  void set(FailurePointer failure = nullptr);
  void reset();
  bool is_set();
  // Whether it came within that time.
  bool wait(std::uint64_t nanoseconds);
  // Told once to somebody who waited, and to everybody who only asks.
  bool failed(bool tell);
  // The word that other processes read, made when first asked for; null: none can be made.
  SharedFlagPointer share();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_;
  SharedFlagPointer shared_;  // other processes read it
  const SharedFlagPointer elsewhere_;
  FailurePointer failure_;
};

using SignalPointer = std::shared_ptr<Signal>;

// A counter-based event stands for the last command that was given it, and is never reset; any
// other stands for one signal.
class Event : public Object {
 public:
  explicit Event(bool counter_based, bool ipc = false);
  explicit Event(SignalPointer opened) : ipc(false), counter_based_(true), signal_(opened) {}

  const bool ipc;             // other processes may open it
  bool is_assigned();         // whether a command was given it
  SignalPointer current();    // the value that a wait is for
  SignalPointer to_signal();  // the value that a command sends that is appended now

 private:
  const bool counter_based_;
  std::mutex mutex_;
  bool assigned_ = false;
  SignalPointer signal_;
};

std::vector<SignalPointer> signals_of(std::uint32_t count, ze_event_handle_t* events);
SignalPointer signal_for(ze_event_handle_t event);  // null for none

}  // namespace stand_in
