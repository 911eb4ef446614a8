#include "device.hpp"

#include <algorithm>
#include <string>

#include "faults.hpp"
#include "settings.hpp"

namespace stand_in {
namespace {

std::vector<Device*> make_cards() {
  std::vector<Device*> made;
  for (int card = 0; card < settings().cards; ++card) {
    auto* whole = new Device;
    whole->card = card;
    for (int tile = 0; tile < settings().tiles; ++tile) {
      auto* sub_device = new Device;
      sub_device->card = card;
      sub_device->tile = tile;
      sub_device->parent = whole;
      whole->tiles.push_back(sub_device);
    }
    made.push_back(whole);
  }
  return made;
}

// Whether ZE_AFFINITY_MASK leaves a device, by its number, or a tile of a card.
bool is_left(int number, int tile = -1) {
  const auto& mask = settings().mask;
  if (mask.empty() || mask.count(std::to_string(number))) return true;
  return tile >= 0 && mask.count(std::to_string(number) + "." + std::to_string(tile));
}

std::vector<Device*> tiles_left(const Device& card) {
  if (settings().hierarchy != Hierarchy::composite) return card.tiles;
  std::vector<Device*> tiles;
  for (Device* tile : card.tiles)
    if (is_left(card.card, tile->tile)) tiles.push_back(tile);
  return tiles;
}

std::vector<Device*> make_list() {
  std::vector<Device*> list;
  int number = 0;
  for (Device* card : cards()) {
    if (settings().hierarchy == Hierarchy::composite) {
      const std::vector<Device*> tiles = tiles_left(*card);
      if (is_left(card->card) || tiles.size() > 1)
        list.push_back(card);
      else if (tiles.size() == 1)
        list.push_back(tiles[0]);  // the tile stands for its card
      continue;
    }
    for (Device* device : card->tiles.empty() ? std::vector<Device*>{card} : card->tiles)
      if (is_left(number++)) list.push_back(device);
  }
  return list;
}

}  // namespace

const std::vector<Device*>& cards() {
  static const auto* all = new std::vector<Device*>(make_cards());
  return *all;
}

const std::vector<Device*>& listed() {
  static const auto* list = new std::vector<Device*>(make_list());
  return *list;
}

bool is_root(const Device& device) {
  if (!device.parent || settings().hierarchy == Hierarchy::flat) return true;
  const std::vector<Device*>& list = listed();
  return settings().hierarchy == Hierarchy::composite &&
         std::find(list.begin(), list.end(), &device) != list.end();
}

bool reaches(const Device& device, const Device& other) {
  if (device.card == other.card) return true;
  return settings().peers && (!settings().one_way || other.card < device.card);
}

}  // namespace stand_in

using namespace stand_in;

ZE_API ze_result_t zeDeviceGet(ze_driver_handle_t, std::uint32_t* count, ze_device_handle_t* to) {
  hand_out(listed(), count, to);
  return ZE_RESULT_SUCCESS;
}

// FLAT: a tile is all there is.  COMBINED: the card, reached through zeDeviceGetRootDevice, has
// them.
ZE_API ze_result_t zeDeviceGetSubDevices(ze_device_handle_t device, std::uint32_t* count,
                                         ze_device_handle_t* to) {
  const bool flat = settings().hierarchy == Hierarchy::flat;
  hand_out(flat ? std::vector<Device*>{} : tiles_left(of<Device>(device)), count, to);
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDeviceGetRootDevice(ze_device_handle_t device, ze_device_handle_t* root) {
  const auto& asked = of<Device>(device);
  *root = is_root(asked) ? nullptr : handle_of<ze_device_handle_t>(asked.parent);
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDeviceCanAccessPeer(ze_device_handle_t device, ze_device_handle_t other,
                                         ze_bool_t* yes) {
  *yes = reaches(of<Device>(device), of<Device>(other));
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDeviceGetP2PProperties(ze_device_handle_t device, ze_device_handle_t other,
                                            ze_device_p2p_properties_t* p) {
  const bool peers = reaches(of<Device>(device), of<Device>(other));
  p->flags = peers ? ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS : 0;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDeviceGetStatus(ze_device_handle_t) {
  return faults().lost ? ZE_RESULT_ERROR_DEVICE_LOST : ZE_RESULT_SUCCESS;
}
