// SPDX-License-Identifier: Apache-2.0
// How a device is partitioned into sub-devices.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sycl_ext {

// "equally": sub-devices of `counts[0]` compute units each.  "counts": a sub-device for each number
// of compute units in `counts`. Otherwise `counts` is empty: an affinity domain ("numa", ...), or
// compute slices ("cslice").
struct Partition {
  std::string way;
  std::vector<std::size_t> counts;

  std::string description() const {  // "equally 2", "counts 1 1", "numa", "cslice"
    std::string text = way;
    for (const std::size_t count : counts) text += " " + std::to_string(count);
    return text;
  }
};

}  // namespace sycl_ext
