// The driver: one, with only GPUs.
#include "driver.hpp"

#include <cstring>

#include "handle.hpp"

namespace stand_in {

ze_driver_handle_t the_driver() {
  static auto* const only = new Object;
  return handle_of<ze_driver_handle_t>(only);
}

}  // namespace stand_in

using namespace stand_in;

ZE_API ze_result_t zeInit(std::uint32_t) { return ZE_RESULT_SUCCESS; }

ZE_API ze_result_t zeDriverGet(std::uint32_t* count, ze_driver_handle_t* drivers) {
  hand_out_one(count, drivers, [](ze_driver_handle_t& driver) { driver = the_driver(); });
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeInitDrivers(std::uint32_t* count, ze_driver_handle_t* drivers,
                                 ze_init_driver_type_desc_t*) {
  return zeDriverGet(count, drivers);
}

ZE_API ze_result_t zeDriverGetApiVersion(ze_driver_handle_t, ze_api_version_t* version) {
  *version = ZE_MAKE_VERSION(1, 15);
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDriverGetProperties(ze_driver_handle_t, ze_driver_properties_t* p) {
  std::memset(p->uuid, 0x5a, sizeof p->uuid);
  p->driverVersion = (1u << 24) | (3u << 16) | kBuild;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDriverGetIpcProperties(ze_driver_handle_t, ze_driver_ipc_properties_t* p) {
  p->flags = ZE_IPC_PROPERTY_FLAG_MEMORY;
  return ZE_RESULT_SUCCESS;
}
