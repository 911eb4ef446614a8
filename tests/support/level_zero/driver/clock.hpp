// The clock of the devices: the host's steady clock, in nanoseconds.
#pragma once

#include <chrono>
#include <cstdint>

namespace stand_in {

constexpr std::uint32_t kTimestampBits = 60;

inline std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace stand_in
