// SPDX-License-Identifier: Apache-2.0
// Strided copies in memory that the host can reach; knows neither devices nor Python.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/layout.hpp"

namespace sycl_ext {

// One loop of a copy: `count` steps, with the distance in bytes on either side.
struct CopyAxis {
  std::int64_t count;
  std::int64_t to;
  std::int64_t from;
};

// A copy as nested loops, outermost first, with as few axes as possible.  Axes of length one are
// dropped.  Axes that run backwards in the target are reversed.  Axes that continue each other are
// merged.  The axis with the smallest target stride is the innermost.
struct CopyLoops {
  std::byte* to;
  const std::byte* from;
  std::size_t itemsize;
  int ndim = 0;
  std::array<CopyAxis, max_ndim> axes;

  std::size_t nbytes() const noexcept;
  // Bytes of the innermost run that is contiguous on both sides (one element at least).
  std::size_t run() const noexcept;
  // The number of loops around these runs.
  int outer_ndim() const noexcept { return run() > itemsize ? ndim - 1 : ndim; }
  // Whether both sides are one contiguous run.
  bool contiguous() const noexcept { return run() == nbytes(); }
};

// Calls `body(to, from)` for every combination of the axes [0, ndim), the last one innermost.
template <class Body>
void for_each(const CopyAxis* axes, int ndim, std::byte* to, const std::byte* from,
              const Body& body) {
  if (ndim == 0) {
    body(to, from);
    return;
  }
  for (std::int64_t i = 0; i < axes->count; ++i) {
    for_each(axes + 1, ndim - 1, to + i * axes->to, from + i * axes->from, body);
  }
}

// Both layouts have one shape.
CopyLoops make_loops(std::byte* to, const Layout& to_layout, const std::byte* from,
                     const Layout& from_layout, std::size_t itemsize);

// Merges axes that continue each other on both sides.
void merge_axes(CopyLoops* loops) noexcept;

// Copies the elements.  The two sides must not overlap.
void copy_strided(const CopyLoops& loops) noexcept;

}  // namespace sycl_ext
