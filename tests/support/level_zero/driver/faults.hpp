// Counters and switches that a test reads and turns while the process runs.
#pragma once

#include <atomic>
#include <climits>

namespace stand_in {

struct Faults {
  Faults();

  std::atomic<long> calls{0};     // failable calls so far
  std::atomic<long> fail_at{0};   // the n-th failable call from now on fails; 0: none
  std::atomic<long> delay_us{0};  // pause before each command
  std::atomic<long> copies{0};    // copy commands carried out
  std::atomic<long> host_allocations_left{LONG_MAX};  // of host USM; later ones fail
  std::atomic<long> running{0};                       // commands that are being carried out now
  std::atomic<long> in_flight{0};  // copy commands that were submitted and are not done
  std::atomic<long> most_in_flight{0};
  std::atomic<long> imports{0};      // of host memory, so far
  std::atomic<long> ipc_handles{0};  // handles not yet put back
  std::atomic<long> prefetched{0};   // bytes
  std::atomic<long> advised{0};      // bytes
  std::atomic<long> advice{-1};      // the last, of ze_memory_advice_t
  std::atomic<bool> next_command_fails{false};
  std::atomic<long> queries_fail{0};  // whether no question for the state of a command is answered
  std::atomic<bool> lost{false};      // every device, for ever: nothing is carried out any more

  // Counts a failable call: allocation, creation of a command list, an appended command, an IPC
  // handle, an import. Whether it is the one that shall fail.
  bool now();
};

Faults& faults();

}  // namespace stand_in
