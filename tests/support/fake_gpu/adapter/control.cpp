// The counters and switches, and their C functions, which a test reaches through ctypes.
#include "control.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "settings.hpp"

namespace fakegpu {

Counters counters;

namespace {

std::atomic<bool> async_error{false};

std::atomic<long>& call_to_fail() {
  static std::atomic<long> number{settings().fail_at};
  return number;
}

// Never destroyed: a queue may still sleep in it when the process ends.
struct Delay {
  std::mutex mutex;
  std::condition_variable changed;
  long microseconds = settings().delay_us;
};

Delay& delay() {
  static auto* one = new Delay;
  return *one;
}

}  // namespace

bool fails_now() { return ++counters.calls == call_to_fail(); }

bool take_async_error() { return async_error.exchange(false); }

void pause_before_command() {
  Delay& d = delay();
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock<std::mutex> lock(d.mutex);
  for (;;) {
    const auto end = start + std::chrono::microseconds(d.microseconds);
    if (std::chrono::steady_clock::now() >= end) return;
    d.changed.wait_until(lock, end);
  }
}

}  // namespace fakegpu

#define FAKEGPU_EXPORT extern "C" __attribute__((visibility("default")))

FAKEGPU_EXPORT long fakegpu_calls(void) { return fakegpu::counters.calls; }
FAKEGPU_EXPORT long fakegpu_copies(void) { return fakegpu::counters.copies; }
FAKEGPU_EXPORT long fakegpu_live_allocations(void) { return fakegpu::counters.live_allocations; }
FAKEGPU_EXPORT long fakegpu_device_bytes(void) { return fakegpu::counters.device_bytes; }
FAKEGPU_EXPORT long fakegpu_ipc_handles(void) { return fakegpu::counters.ipc_handles; }

FAKEGPU_EXPORT void fakegpu_fail_at(long n) {
  fakegpu::call_to_fail() = n > 0 ? fakegpu::counters.calls + n : 0;
}

FAKEGPU_EXPORT void fakegpu_async_error_next(void) { fakegpu::async_error = true; }

FAKEGPU_EXPORT void fakegpu_set_delay_us(long microseconds) {
  fakegpu::Delay& d = fakegpu::delay();
  {
    std::lock_guard<std::mutex> lock(d.mutex);
    d.microseconds = microseconds;
  }
  d.changed.notify_all();
}
