// SPDX-License-Identifier: Apache-2.0
// The relation of an array's memory to the device that a consumer requests: a pure function of two
// plain structs.  What follows from a relation is the table RULES of
// sycl_ext/_negotiation/rules.py, which has a sentence for each.
#pragma once

#include <dlpack/dlpack.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "rules/facts.hpp"

namespace sycl_ext {

enum class Relation : std::uint8_t {
  same,
  other_context,
  direct,
  sub_device,
  other_kind,
  other_usm_type,
  indirect,
  system_usm,
  host_only,
  reachable,
  unreachable,
  reversed,
  untold,
  untold_on_host,
  no_usm,
  unknown,
};
inline constexpr std::array relation_names{
    "SAME",     "OTHER_CONTEXT",  "DIRECT",    "SUB_DEVICE", "OTHER_KIND",  "OTHER_USM_TYPE",
    "INDIRECT", "SYSTEM_USM",     "HOST_ONLY", "REACHABLE",  "UNREACHABLE", "REVERSED",
    "UNTOLD",   "UNTOLD_ON_HOST", "NO_USM",    "UNKNOWN"};
inline constexpr std::size_t relation_count = relation_names.size();
static_assert(static_cast<std::size_t>(Relation::unknown) + 1 == relation_count);

// What a consumer asks for, completed with what the device table knows of the device.
struct Request {
  DLDevice device;           // the host, (kDLOneAPI, id of an entry), or a device that is not known
  bool ours = false;         // this package takes the data, and knows more than root ids
  bool versioned = true;     // the consumer knows the read-only flag
  bool root_only = false;    // it refuses memory of a sub-device in the default context
  bool any_strides = false;  // a consumer on the host takes negative strides
  std::optional<UsmKind> kind{};  // that is needed; nullopt: any

  bool known = true;        // the device table has an entry for the device
  bool has_usm = true;      // the device has USM at all
  bool direct = true;       // the runtime copies from the memory to the device by one command
  bool system_usm = false;  // plain host memory will do, because the device reads it
  bool right_kind =
      true;  // the memory is of the kind that a device type of CUDA or ROCm stands for
};

Relation relation(const MemoryFacts& facts, const Request& request) noexcept;

}  // namespace sycl_ext
