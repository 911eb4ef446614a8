// Cards, their tiles, and which of them the hierarchy of the process shows.
#pragma once

#include <vector>

#include "handle.hpp"
#include "spec.hpp"

namespace stand_in {

struct Device : Object {
  int card = 0;
  int tile = -1;             // -1: the whole card
  Device* parent = nullptr;  // the card of a tile
  std::vector<Device*> tiles;
};

// Every card; its tiles stand in it.
const std::vector<Device*>& cards();

// The devices that zeDeviceGet lists: cards (COMPOSITE), or their tiles (FLAT, COMBINED), as far as
// ZE_AFFINITY_MASK leaves them.
const std::vector<Device*>& listed();

// Whether a device passes for one that is not a tile of another.
bool is_root(const Device& device);

// Whether commands of one device reach the memory of the other.
bool reaches(const Device& device, const Device& other);

}  // namespace stand_in
