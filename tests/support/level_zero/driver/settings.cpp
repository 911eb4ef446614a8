#include "settings.hpp"

#include <cstdlib>
#include <cstring>
#include <sstream>

namespace stand_in {
namespace {

long number(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtol(text, nullptr, 0) : otherwise;
}

Hierarchy hierarchy() {
  const char* text = std::getenv("ZE_FLAT_DEVICE_HIERARCHY");
  if (text && !std::strcmp(text, "COMPOSITE")) return Hierarchy::composite;
  if (text && !std::strcmp(text, "COMBINED")) return Hierarchy::combined;
  return Hierarchy::flat;
}

std::set<std::string> mask() {
  const char* text = std::getenv("ZE_AFFINITY_MASK");
  std::istringstream entries(text ? text : "");
  std::set<std::string> mask;
  for (std::string entry; std::getline(entries, entry, ',');) mask.insert(entry);
  return mask;
}

Settings read() {
  Settings s{};
  s.cards = static_cast<int>(number("FAKEGPU_DEVICES", 2));
  s.tiles = static_cast<int>(number("FAKEGPU_TILES", 2));
  s.cslices = static_cast<int>(number("FAKEGPU_CSLICES", 1));
  s.hierarchy = hierarchy();
  s.mask = mask();
  s.memory = static_cast<std::size_t>(number("FAKEGPU_MEM", 1L << 30));
  s.delay_us = number("FAKEGPU_DELAY_US", 0);
  s.peers = number("FAKEGPU_P2P", 0) != 0;
  s.one_way = number("FAKEGPU_P2P", 0) == 2;
  s.fp64 = number("FAKEGPU_FP64", 1) != 0;
  s.system_usm = number("FAKEGPU_SYSTEM_USM", 0) != 0;
  s.barriers = number("FAKEGPU_BARRIERS", 1) != 0;
  s.corrupt = number("FAKEGPU_CORRUPT", 0);
  return s;
}

}  // namespace

const Settings& settings() {
  static const Settings values = read();
  return values;
}

}  // namespace stand_in
