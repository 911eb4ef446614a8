#include "device.hpp"

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

std::vector<Device*> make_list() {
  if (settings().hierarchy == Hierarchy::composite) return cards();
  std::vector<Device*> list;
  for (Device* card : cards()) {
    if (card->tiles.empty()) list.push_back(card);
    list.insert(list.end(), card->tiles.begin(), card->tiles.end());
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
  static const std::vector<Device*> none;
  const bool flat = settings().hierarchy == Hierarchy::flat;
  hand_out(flat ? none : of<Device>(device).tiles, count, to);
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDeviceGetRootDevice(ze_device_handle_t device, ze_device_handle_t* root) {
  const bool flat = settings().hierarchy == Hierarchy::flat;
  *root = flat ? nullptr : handle_of<ze_device_handle_t>(of<Device>(device).parent);
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
