// System management (sysman): how much memory is free.  A card has one memory module, or one for
// each tile.  The adapter finds a card by its UUID.
#include <vector>

#include "device.hpp"
#include "memory.hpp"
#include "settings.hpp"

using namespace stand_in;

namespace {

// A card, and the tile whose memory it is; -1: the card has none.
struct Module final : Object {
  Device* card = nullptr;
  int tile = -1;
};

std::vector<Module*> make_modules(Device* card) {
  std::vector<Module*> made;
  const int tiles = static_cast<int>(card->tiles.size());
  for (int tile = tiles ? 0 : -1; tile < tiles; ++tile) {
    auto* module = new Module;
    module->card = card;
    module->tile = tile;
    made.push_back(module);
  }
  return made;
}

const std::vector<Module*>& modules_of(Device* card) {
  static const auto* const all = [] {
    auto* made = new std::vector<std::vector<Module*>>;
    for (Device* each : cards()) made->push_back(make_modules(each));
    return made;
  }();
  return all->at(static_cast<std::size_t>(card->card));
}

}  // namespace

ZE_API ze_result_t zesInit(std::uint32_t) { return ZE_RESULT_SUCCESS; }

ZE_API ze_result_t zesDriverGet(std::uint32_t* count, zes_driver_handle_t* to) {
  static auto* const driver = new Object;
  hand_out_one(count, to, [](zes_driver_handle_t& handle) {
    handle = handle_of<zes_driver_handle_t>(driver);
  });
  return ZE_RESULT_SUCCESS;
}

// Bytes 8 and 15 are the numbers of card and tile, from 1: see zeDeviceGetProperties.
ZE_API ze_result_t zesDriverGetDeviceByUuidExp(zes_driver_handle_t, zes_uuid_t uuid,
                                               zes_device_handle_t* device, ze_bool_t* on_tile,
                                               std::uint32_t* tile) {
  const std::size_t card = uuid.id[8] - 1u;
  if (card >= cards().size()) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  *device = handle_of<zes_device_handle_t>(cards()[card]);
  *on_tile = uuid.id[15] != 0;
  *tile = *on_tile ? uuid.id[15] - 1u : 0;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zesDeviceEnumMemoryModules(zes_device_handle_t card, std::uint32_t* count,
                                              zes_mem_handle_t* to) {
  hand_out(modules_of(&of<Device>(card)), count, to);
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zesMemoryGetProperties(zes_mem_handle_t handle, zes_mem_properties_t* p) {
  const auto& module = of<Module>(handle);
  p->type = 0;  // HBM
  p->onSubdevice = module.tile >= 0;
  p->subdeviceId = module.tile >= 0 ? static_cast<std::uint32_t>(module.tile) : 0;
  p->location = 1;  // the device
  p->physicalSize = settings().memory;
  p->busWidth = p->numChannels = -1;
  return ZE_RESULT_SUCCESS;
}

// What all tiles of a card have together is said in equal parts.
ZE_API ze_result_t zesMemoryGetState(zes_mem_handle_t handle, zes_mem_state_t* state) {
  const auto& module = of<Module>(handle);
  const std::size_t modules = modules_of(module.card).size();
  state->health = 1;  // OK
  state->size = settings().memory / modules;
  state->free = (settings().memory - memory().used_on(module.card->card)) / modules;
  return ZE_RESULT_SUCCESS;
}
