// The one driver, and its version.
#pragma once

#include <cstdint>

#include "spec.hpp"

namespace stand_in {

constexpr std::uint32_t kBuild = 39122;
// As the adapters read it; what zeDriverGetProperties says, 1.3 and the build, is older.
constexpr char kVersion[] = "1.15.39122";

ze_driver_handle_t the_driver();

}  // namespace stand_in
