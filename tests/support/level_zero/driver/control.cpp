// The C functions of a stand-in GPU, through which tests/support/level_zero/control.py reads its
// counters and turns its switches.
#include "faults.hpp"
#include "memory.hpp"
#include "spec.hpp"

using namespace stand_in;

ZE_API long fakegpu_calls() { return faults().calls; }
ZE_API long fakegpu_copies() { return faults().copies; }
ZE_API long fakegpu_most_in_flight() { return faults().most_in_flight.exchange(0); }
ZE_API long fakegpu_running() { return faults().running; }
ZE_API long fakegpu_prefetched() { return faults().prefetched; }
ZE_API long fakegpu_advised() { return faults().advised; }
ZE_API long fakegpu_advice() { return faults().advice; }
ZE_API long fakegpu_ipc_handles() { return faults().ipc_handles; }
ZE_API long fakegpu_live_allocations() { return memory().blocks(); }
ZE_API long fakegpu_opened_allocations() { return memory().opened(); }
ZE_API long fakegpu_imports() { return faults().imports; }
ZE_API long fakegpu_imported() { return memory().imported(); }
ZE_API long fakegpu_device_bytes() { return memory().device_bytes(); }
ZE_API void fakegpu_fail_at(long n) { faults().fail_at = n; }
ZE_API void fakegpu_fail_queries(long value) { faults().queries_fail = value; }
ZE_API void fakegpu_leave_host_allocations(long value) { faults().host_allocations_left = value; }
ZE_API void fakegpu_set_delay_us(long value) { faults().delay_us = value; }
ZE_API void fakegpu_async_error_next() { faults().next_command_fails = true; }
ZE_API void fakegpu_lose_devices() { faults().lost = true; }
