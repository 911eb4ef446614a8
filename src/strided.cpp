// SPDX-License-Identifier: Apache-2.0
#include "strided.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace sycl_ext {

namespace {

// Elements move as blobs of their size: a memcpy of constant length is one or two instructions,
// whatever the alignment.
template <std::size_t Size>
inline void move_element(std::byte* to, const std::byte* from) noexcept {
  std::memcpy(to, from, Size);
}

template <std::size_t Size>
void copy_line(std::byte* to, const std::byte* from, const CopyAxis& axis) noexcept {
  if (axis.to == static_cast<std::int64_t>(Size)) {
    for (std::int64_t i = 0; i < axis.count; ++i) {
      move_element<Size>(to + i * static_cast<std::int64_t>(Size), from + i * axis.from);
    }
  } else {
    for (std::int64_t i = 0; i < axis.count; ++i) {
      move_element<Size>(to + i * axis.to, from + i * axis.from);
    }
  }
}

// Two axes at once, in tiles that keep the cache lines of both sides at hand: without them a
// transposition would use one element of each line that it loads.
template <std::size_t Size>
void copy_plane(std::byte* to, const std::byte* from, const CopyAxis& outer,
                const CopyAxis& inner) noexcept {
  constexpr std::int64_t tile = Size >= 8 ? 16 : 32;
  for (std::int64_t i0 = 0; i0 < outer.count; i0 += tile) {
    const std::int64_t i1 = std::min(i0 + tile, outer.count);
    for (std::int64_t j0 = 0; j0 < inner.count; j0 += tile) {
      const CopyAxis line{std::min(tile, inner.count - j0), inner.to, inner.from};
      for (std::int64_t i = i0; i < i1; ++i) {
        copy_line<Size>(to + i * outer.to + j0 * inner.to, from + i * outer.from + j0 * inner.from,
                        line);
      }
    }
  }
}

// Calls `body(to, from)` for every combination of the axes [0, ndim).
template <class Body>
void for_each(const CopyAxis* axes, int ndim, std::byte* to, const std::byte* from,
              const Body& body) noexcept {
  if (ndim == 0) {
    body(to, from);
    return;
  }
  for (std::int64_t i = 0; i < axes->count; ++i) {
    for_each(axes + 1, ndim - 1, to + i * axes->to, from + i * axes->from, body);
  }
}

// The axis along which the source is read best; worth a tile when it is not the innermost.
int best_source_axis(const CopyLoops& loops) noexcept {
  int best = loops.ndim - 1;
  for (int i = 0; i < loops.ndim; ++i) {
    if (std::abs(loops.axes[i].from) < std::abs(loops.axes[best].from)) best = i;
  }
  return best;
}

template <std::size_t Size>
void copy_elementwise(const CopyLoops& loops) noexcept {
  const int last = loops.ndim - 1;
  const int best = best_source_axis(loops);
  if (best == last) {
    for_each(
        loops.axes.data(), last, loops.to, loops.from,
        [&](std::byte* to, const std::byte* from) { copy_line<Size>(to, from, loops.axes[last]); });
    return;
  }
  // The best source axis moves next to the innermost one, and the two are done in tiles.
  std::array<CopyAxis, max_ndim> outer;
  int n_outer = 0;
  for (int i = 0; i < last; ++i) {
    if (i != best) outer[n_outer++] = loops.axes[i];
  }
  for_each(outer.data(), n_outer, loops.to, loops.from, [&](std::byte* to, const std::byte* from) {
    copy_plane<Size>(to, from, loops.axes[best], loops.axes[last]);
  });
}

}  // namespace

std::size_t CopyLoops::nbytes() const noexcept {
  std::size_t bytes = itemsize;
  for (int i = 0; i < ndim; ++i) bytes *= static_cast<std::size_t>(axes[i].count);
  return bytes;
}

std::size_t CopyLoops::run() const noexcept {
  const auto size = static_cast<std::int64_t>(itemsize);
  if (ndim == 0 || axes[ndim - 1].to != size || axes[ndim - 1].from != size) return itemsize;
  return itemsize * static_cast<std::size_t>(axes[ndim - 1].count);
}

CopyLoops make_loops(std::byte* to, const Layout& to_layout, const std::byte* from,
                     const Layout& from_layout, std::size_t itemsize) {
  CopyLoops loops{to, from, itemsize, 0, {}};
  const auto size = static_cast<std::int64_t>(itemsize);
  for (int i = 0; i < to_layout.ndim(); ++i) {
    CopyAxis axis{to_layout.shape()[i], to_layout.strides()[i] * size,
                  from_layout.strides()[i] * size};
    if (axis.count == 1) continue;
    if (axis.to < 0) {
      loops.to += (axis.count - 1) * axis.to;
      loops.from += (axis.count - 1) * axis.from;
      axis.to = -axis.to;
      axis.from = -axis.from;
    }
    loops.axes[loops.ndim++] = axis;
  }
  std::stable_sort(loops.axes.begin(), loops.axes.begin() + loops.ndim,
                   [](const CopyAxis& a, const CopyAxis& b) { return a.to > b.to; });
  int merged = 0;
  for (int i = 0; i < loops.ndim; ++i) {
    const CopyAxis inner = loops.axes[i];
    if (merged > 0) {
      CopyAxis& outer = loops.axes[merged - 1];
      if (outer.to == inner.to * inner.count && outer.from == inner.from * inner.count) {
        outer = {outer.count * inner.count, inner.to, inner.from};
        continue;
      }
    }
    loops.axes[merged++] = inner;
  }
  loops.ndim = merged;
  return loops;
}

void copy_strided(const CopyLoops& loops) noexcept {
  const std::size_t run = loops.run();
  if (run > loops.itemsize || loops.ndim == 0) {
    for_each(loops.axes.data(), std::max(loops.ndim - 1, 0), loops.to, loops.from,
             [run](std::byte* to, const std::byte* from) { std::memcpy(to, from, run); });
    return;
  }
  switch (loops.itemsize) {
    case 1:
      return copy_elementwise<1>(loops);
    case 2:
      return copy_elementwise<2>(loops);
    case 4:
      return copy_elementwise<4>(loops);
    case 8:
      return copy_elementwise<8>(loops);
    default:
      return copy_elementwise<16>(loops);
  }
}

}  // namespace sycl_ext
