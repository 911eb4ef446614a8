// What a test may read and switch while the program runs: counters, the delay, failures to come.
// Knows the settings only. The C functions that a test calls are in control.cpp.
#pragma once

#include <atomic>

namespace fakegpu {

// Only ever counted up and down; control.cpp exports them.
struct Counters {
  std::atomic<long> calls{0};             // failable calls made so far, failed ones included
  std::atomic<long> copies{0};            // USM copies carried out so far
  std::atomic<long> live_allocations{0};  // USM allocations not yet freed, all kinds
  std::atomic<long> device_bytes{0};      // device memory in use, whole pages, all GPUs
  std::atomic<long> ipc_handles{0};       // inter-process handles not yet put back
};
extern Counters counters;

// Counts one failable call; true when this is the one that has to fail.
bool fails_now();

// True once after a test asked for an asynchronous error: the command at hand shall fail when it
// is carried out, after it was accepted.
bool take_async_error();

// Sleeps as long as the delay says; a delay changed meanwhile counts from the start of the pause,
// so that setting 0 releases a queue that sleeps.
void pause_before_command();

}  // namespace fakegpu
