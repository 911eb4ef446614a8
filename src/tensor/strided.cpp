// SPDX-License-Identifier: Apache-2.0
#include "tensor/strided.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "base/dtype.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace sycl_ext {

namespace {

// One line of a copy.  The steps are in bytes.  If they are known when this is compiled, the
// compiler makes shuffles of the loop.
template <std::size_t Size, std::int64_t ToStep, std::int64_t FromStep>
void copy_line_steps(std::byte* to, const std::byte* from, CopyAxis axis) noexcept {
  const std::int64_t to_by = ToStep ? ToStep : axis.to;
  const std::int64_t from_by = FromStep ? FromStep : axis.from;
  std::int64_t i = 0;
  if constexpr (FromStep == 0 && ToStep != 0) {  // loads together, so that none waits for a store
    for (; i + 8 <= axis.count; i += 8) {
      std::byte elements[8][Size];
      for (int k = 0; k < 8; ++k) std::memcpy(elements[k], from + (i + k) * from_by, Size);
      std::memcpy(to + i * to_by, elements, sizeof elements);
    }
  }
  for (; i < axis.count; ++i) std::memcpy(to + i * to_by, from + i * from_by, Size);
}

// The axis is passed by value.  Otherwise the compiler would read it again for every element,
// because a store through `to` might change it.
template <std::size_t Size>
void copy_line(std::byte* to, const std::byte* from, CopyAxis axis) noexcept {
  constexpr auto size = static_cast<std::int64_t>(Size);
  if (axis.to != size) {
    if (axis.from == size && axis.to == 4 * size) {
      return copy_line_steps<Size, 4 * size, size>(to, from, axis);
    }
    return copy_line_steps<Size, 0, 0>(to, from, axis);
  }
  if (axis.from == 2 * size) return copy_line_steps<Size, size, 2 * size>(to, from, axis);
  if (axis.from == 4 * size) return copy_line_steps<Size, size, 4 * size>(to, from, axis);
  copy_line_steps<Size, size, 0>(to, from, axis);
}

// The side of the squares that transpose_square() takes.
template <std::size_t Size>
constexpr int square_side = Size == 16 ? 2 : static_cast<int>(16 / Size);

#if defined(__SSE2__)

// Interleaves the lower halves or the upper halves of two vectors.
template <std::size_t Size>
inline __m128i interleave(__m128i a, __m128i b, bool upper) noexcept {
  if constexpr (Size == 1) return upper ? _mm_unpackhi_epi8(a, b) : _mm_unpacklo_epi8(a, b);
  if constexpr (Size == 2) return upper ? _mm_unpackhi_epi16(a, b) : _mm_unpacklo_epi16(a, b);
  if constexpr (Size == 4) return upper ? _mm_unpackhi_epi32(a, b) : _mm_unpacklo_epi32(a, b);
  return upper ? _mm_unpackhi_epi64(a, b) : _mm_unpacklo_epi64(a, b);
}

#endif

// Transposes a square whose lines are contiguous vectors on both sides.  Interleaving line i with
// line i + side / 2 moves one bit of the row number into the column number, so rows and columns
// have changed places after log2(side) rounds.
template <std::size_t Size>
inline void transpose_square(std::byte* to, std::int64_t to_line, const std::byte* from,
                             std::int64_t from_line) noexcept {
  constexpr int side = square_side<Size>;
#if defined(__SSE2__)
  if constexpr (Size < 16) {
    __m128i lines[side], next[side];
    for (int i = 0; i < side; ++i) {
      lines[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * from_line));
    }
    for (int round = 1; round < side; round *= 2) {
      for (int i = 0; i < side / 2; ++i) {
        next[2 * i] = interleave<Size>(lines[i], lines[i + side / 2], false);
        next[2 * i + 1] = interleave<Size>(lines[i], lines[i + side / 2], true);
      }
      std::copy_n(next, side, lines);
    }
    for (int i = 0; i < side; ++i) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i * to_line), lines[i]);
    }
    return;
  }
#endif
  for (int i = 0; i < side; ++i) {
    for (int j = 0; j < side; ++j) {
      std::memcpy(to + i * to_line + j * Size, from + j * from_line + i * Size, Size);
    }
  }
}

struct Tile {
  std::int64_t i_begin, i_end, j_begin, j_end;
};

// Copies a tile of whole squares.  The target is written in long rows.
template <std::size_t Size>
void copy_squares(std::byte* to, const std::byte* from, CopyAxis outer, CopyAxis inner,
                  Tile tile) noexcept {
  constexpr auto size = static_cast<std::int64_t>(Size);
  constexpr int side = square_side<Size>;
  for (std::int64_t i = tile.i_begin; i < tile.i_end; i += side) {
    for (std::int64_t j = tile.j_begin; j < tile.j_end; j += side) {
      transpose_square<Size>(to + i * outer.to + j * size, outer.to,
                             from + i * size + j * inner.from, inner.from);
    }
  }
}

// Two axes at once: `inner` is the target's best axis, `outer` the source's.  Tiles keep the cache
// lines of both sides at hand; without them a transposition would use one element of each line that
// it loads.
template <std::size_t Size>
void copy_plane(std::byte* to, const std::byte* from, CopyAxis outer, CopyAxis inner) noexcept {
  constexpr auto size = static_cast<std::int64_t>(Size);
  constexpr int side = square_side<Size>;
  // A tile is a line of the source by a page of the target: each source line is used up while it is
  // in the cache, and the target is written in long rows.
  const std::int64_t tile_j =
      std::clamp<std::int64_t>(inner.count, 1, std::min<std::int64_t>(1024, 4096 / size));
  const std::int64_t tile_i = std::max<std::int64_t>(64 / size, 8192 / size / tile_j);
  const bool squares = inner.to == size && outer.from == size;
  for (std::int64_t i0 = 0; i0 < outer.count; i0 += tile_i) {
    const std::int64_t i1 = std::min(i0 + tile_i, outer.count);
    for (std::int64_t j0 = 0; j0 < inner.count; j0 += tile_j) {
      const std::int64_t j1 = std::min(j0 + tile_j, inner.count);
      std::int64_t i = i0;
      std::int64_t j = j0;
      if (squares) {
        const std::int64_t end = i0 + (i1 - i0) / side * side;
        j = j0 + (j1 - j0) / side * side;
        copy_squares<Size>(to, from, outer, inner, {i0, end, j0, j});
        for (i = i0; i < end && j < j1; ++i) {  // the rest of these lines
          copy_line<Size>(to + i * outer.to + j * inner.to, from + i * outer.from + j * inner.from,
                          {j1 - j, inner.to, inner.from});
        }
        i = end;
      }
      for (; i < i1; ++i) {
        copy_line<Size>(to + i * outer.to + j0 * inner.to, from + i * outer.from + j0 * inner.from,
                        {j1 - j0, inner.to, inner.from});
      }
    }
  }
}

// The axis along which the source is read best.  Tiles are worth their cost only if that is not the
// innermost axis.
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
    const CopyAxis &a = loops.axes[best], &b = loops.axes[last];
    // If the lines are few and long, the copy goes along the long axis.
    const bool few = b.count < square_side<Size> && a.count > b.count;
    copy_plane<Size>(to, from, few ? b : a, few ? a : b);
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
  for (int i = 0; i < to_layout.ndim(); ++i) {
    CopyAxis axis{to_layout.shape()[i], byte_stride(to_layout, i, itemsize),
                  byte_stride(from_layout, i, itemsize)};
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
  merge_axes(&loops);
  return loops;
}

void merge_axes(CopyLoops* loops) noexcept {
  int merged = 0;
  for (int i = 0; i < loops->ndim; ++i) {
    const CopyAxis inner = loops->axes[i];
    if (merged > 0) {
      CopyAxis& outer = loops->axes[merged - 1];
      if (outer.to == inner.to * inner.count && outer.from == inner.from * inner.count) {
        outer = {outer.count * inner.count, inner.to, inner.from};
        continue;
      }
    }
    loops->axes[merged++] = inner;
  }
  loops->ndim = merged;
}

// Whether every item size is one of the first `count` powers of two.
template <class Dtypes>
static constexpr bool has_a_loop_for_each(const Dtypes& all, std::size_t count) {
  for (const DType& dtype : all) {
    const std::size_t size = dtype.itemsize();
    if (size == 0 || (size & (size - 1)) != 0 || size >> count != 0) return false;
  }
  return true;
}

void copy_strided(const CopyLoops& loops) noexcept {
  const std::size_t run = loops.run();
  if (run > loops.itemsize || loops.ndim == 0) {
    for_each(loops.axes.data(), loops.outer_ndim(), loops.to, loops.from,
             [run](std::byte* to, const std::byte* from) { std::memcpy(to, from, run); });
    return;
  }
  // A function for each item size, indexed by the logarithm of the size.
  static constexpr void (*copies[])(const CopyLoops&) noexcept = {
      copy_elementwise<1>, copy_elementwise<2>, copy_elementwise<4>, copy_elementwise<8>,
      copy_elementwise<16>};
  static_assert(has_a_loop_for_each(dtypes, std::size(copies)),
                "copies[] has no loop for the item size of a row of dtypes");
  copies[__builtin_ctzl(loops.itemsize)](loops);
}

}  // namespace sycl_ext
