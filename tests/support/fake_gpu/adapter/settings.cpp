// Names and defaults of the environment variables.
#include "settings.hpp"

#include <unified-runtime/ur_api.h>

#include <cstdlib>
#include <string>

namespace fakegpu {
namespace {

long number(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::atol(text) : otherwise;
}

int backend() {
  const char* const name = std::getenv("FAKEGPU_BACKEND");
  if (name && std::string(name) == "cuda") return UR_BACKEND_CUDA;
  if (name && std::string(name) == "hip") return UR_BACKEND_HIP;
  return UR_BACKEND_LEVEL_ZERO;
}

}  // namespace

const Settings& settings() {
  static const Settings values = [] {
    Settings s{};
    s.devices = static_cast<int>(number("FAKEGPU_DEVICES", 2));
    s.tiles = static_cast<int>(number("FAKEGPU_TILES", 2));
    s.memory = static_cast<size_t>(number("FAKEGPU_MEM", 1L << 30));
    s.delay_us = number("FAKEGPU_DELAY_US", 0);
    s.p2p = number("FAKEGPU_P2P", 0) != 0;
    s.one_way_p2p = number("FAKEGPU_P2P", 0) == 2;
    s.strict_p2p = number("FAKEGPU_STRICT_P2P", 0) != 0;
    s.strict_context = number("FAKEGPU_STRICT_CTX", 0) != 0;
    s.two_d = number("FAKEGPU_2D", 1) != 0;
    s.fp64 = number("FAKEGPU_FP64", 1) != 0;
    s.ipc = number("FAKEGPU_IPC", 1) != 0;
    s.stats = number("FAKEGPU_STATS", 0) != 0;
    s.backend = backend();
    s.fail_at = number("FAKEGPU_FAIL_AT", 0);
    return s;
  }();
  return values;
}

}  // namespace fakegpu
