// The environment variables of the stand-in, read once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

namespace stand_in {

enum class Hierarchy { flat, composite, combined };

struct Settings {
  int cards;                   // FAKEGPU_DEVICES
  int tiles;                   // FAKEGPU_TILES: of each card; 0: a card that cannot be partitioned
  int cslices;                 // FAKEGPU_CSLICES: compute queues of each tile; 1: it has no parts
  Hierarchy hierarchy;         // ZE_FLAT_DEVICE_HIERARCHY, as Intel's driver reads it
  std::set<std::string> mask;  // ZE_AFFINITY_MASK: "1", or "1.0" in COMPOSITE mode; empty: all
  std::size_t memory;          // FAKEGPU_MEM: bytes of device memory of each card
  long delay_us;               // FAKEGPU_DELAY_US: pause before each command
  bool peers;                  // FAKEGPU_P2P: the cards reach each other's memory
  bool one_way;                // FAKEGPU_P2P=2: each that of the cards before it
  bool fp64;                   // FAKEGPU_FP64
  bool system_usm;             // FAKEGPU_SYSTEM_USM: commands reach all host memory
  bool barriers;               // FAKEGPU_BARRIERS=0, a planted defect: a barrier waits for no event
  long corrupt;  // FAKEGPU_CORRUPT=n, a planted defect: each n-th copy ends with a wrong byte
};

const Settings& settings();

}  // namespace stand_in
