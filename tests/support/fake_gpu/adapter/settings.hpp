// The FAKEGPU_* environment variables, read once, when the runtime loads the adapter.
// Includes nothing of ours.
#pragma once

#include <cstddef>

namespace fakegpu {

struct Settings {
  int devices;          // FAKEGPU_DEVICES: root GPUs
  int tiles;            // FAKEGPU_TILES: tiles of each GPU; 0 makes it indivisible
  size_t memory;        // FAKEGPU_MEM: bytes of device memory of each root GPU
  long delay_us;        // FAKEGPU_DELAY_US: pause before each queued command
  bool p2p;             // FAKEGPU_P2P: root GPUs reach each other's memory
  bool one_way_p2p;     // FAKEGPU_P2P=2: a root GPU reaches the memory of those before it
  bool strict_p2p;      // FAKEGPU_STRICT_P2P: without p2p, no direct copy, not even in one context
  bool strict_context;  // FAKEGPU_STRICT_CTX: contexts as on OpenCL, not as on Level Zero
  bool two_d;           // FAKEGPU_2D: two-dimensional copies and fills are native
  bool fp64;            // FAKEGPU_FP64: double precision
  bool ipc;             // FAKEGPU_IPC: other processes can open device memory
  bool stats;           // FAKEGPU_STATS: report what is alive at exit
  int backend;          // FAKEGPU_BACKEND: cuda or hip, which the adapter poses as; Level Zero
  long fail_at;         // FAKEGPU_FAIL_AT: this failable call fails, counted from 1; 0 is never
};

const Settings& settings();

}  // namespace fakegpu
