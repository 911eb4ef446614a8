// SPDX-License-Identifier: Apache-2.0
// Gates before every allocator and every function of the SYCL runtime that the core calls
// (gates.py): a test decides which call of this thread fails there.
#pragma once

struct Gate {
  long calls = 0;
  long fail_at = 0;  // 0: none
  bool fails_now() { return ++calls == fail_at; }
};
// Of a thread, because the other threads are the runtime's.
extern thread_local Gate allocators, runtime;
extern thread_local bool device_is_lost;  // how calls of the runtime fail
extern thread_local const char* failed;   // the call of the runtime that failed last
