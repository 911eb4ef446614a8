// SPDX-License-Identifier: Apache-2.0
#include "tensor/pieces.hpp"

#include <algorithm>
#include <cstdlib>

namespace sycl_ext {

Extent source_span(const CopyLoops& loops) noexcept {
  Extent span{0, static_cast<std::int64_t>(loops.itemsize)};
  for (int i = 0; i < loops.ndim; ++i) {
    const std::int64_t reach = (loops.axes[i].count - 1) * loops.axes[i].from;
    std::int64_t& bound = reach < 0 ? span.begin : span.end;
    bound += reach;
  }
  return span;
}

std::pair<CopyLoops, CopyLoops> split(const CopyLoops& loops, std::int64_t CopyAxis::* side) {
  const auto reach = [side](const CopyAxis& axis) {
    return axis.count > 1 ? std::abs((axis.count - 1) * (axis.*side)) : -1;
  };
  const auto widest = std::max_element(
      loops.axes.begin(), loops.axes.begin() + loops.ndim,
      [reach](const CopyAxis& a, const CopyAxis& b) { return reach(a) < reach(b); });
  const auto axis = widest - loops.axes.begin();
  const std::int64_t half = widest->count / 2;
  CopyLoops first = loops, second = loops;
  first.axes[axis].count = half;
  second.axes[axis].count -= half;
  second.to += half * widest->to;
  second.from += half * widest->from;
  return {first, second};
}

ThroughBlock::ThroughBlock(const CopyLoops& loops, std::byte* block) noexcept
    : in(loops), out(loops) {
  in.to = block;
  out.from = block;
  auto step = static_cast<std::int64_t>(loops.itemsize);
  for (int i = loops.ndim - 1; i >= 0; --i) {
    in.axes[i].to = step;
    out.axes[i].from = step;
    step *= loops.axes[i].count;
  }
  merge_axes(&in);
  merge_axes(&out);
}

}  // namespace sycl_ext
