// SPDX-License-Identifier: Apache-2.0
// Divides a copy into pieces that go through a block of memory one after the other; knows neither
// devices nor Python.
#pragma once

#include <utility>

#include "tensor/strided.hpp"

namespace sycl_ext {

// The bytes of the source of a set of loops: from the lowest to the highest element.
Extent source_span(const CopyLoops& loops) noexcept;

// The two halves of loops over several elements.  The loops are divided along the axis that reaches
// furthest on `side`.
std::pair<CopyLoops, CopyLoops> split(const CopyLoops& loops, std::int64_t CopyAxis::* side);

// The number of runs that are contiguous on both sides.
inline std::size_t runs_of(const CopyLoops& loops) noexcept { return loops.nbytes() / loops.run(); }

// A command for each of several runs or pieces is limited to so many at a time, because the event
// of a command is kept until the command is done.
inline constexpr std::size_t most_runs = 4096;

// A copy through a compact block: loops into the block, and loops out of it, in the order of the
// loops.
struct ThroughBlock {
  CopyLoops in, out;

  ThroughBlock(const CopyLoops& loops, std::byte* block) noexcept;
};

// Divides loops into pieces for which `fits` returns true, and calls `body` with each piece.
template <class Fits, class Body>
void for_each_piece(const CopyLoops& loops, std::int64_t CopyAxis::* side, const Fits& fits,
                    const Body& body) {
  if (loops.nbytes() == loops.itemsize || fits(loops)) {
    body(loops);
    return;
  }
  const auto halves = split(loops, side);
  for_each_piece(halves.first, side, fits, body);
  for_each_piece(halves.second, side, fits, body);
}

}  // namespace sycl_ext
