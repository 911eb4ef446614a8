// SPDX-License-Identifier: Apache-2.0
// Random layouts inside a block, and the result of a copy between them, one element at a time.
#pragma once

#include <cstddef>
#include <cstring>
#include <vector>

#include "base/layout.hpp"
#include "check.hpp"

namespace check {

// A layout whose elements lie inside [0, elements) of a block, and where its first element lies.
struct Placed {
  sycl_ext::Layout layout;
  std::int64_t first;
};

// Overlap-free, as a target has to be: a permuted, sliced and reversed view of a compact block.
inline Placed random_view(Random& random, const std::vector<std::int64_t>& shape,
                          std::int64_t* elements) {
  const int ndim = static_cast<int>(shape.size());
  std::vector<int> order(shape.size());
  for (int i = 0; i < ndim; ++i) order[static_cast<std::size_t>(i)] = i;
  for (int i = ndim - 1; i > 0; --i)
    std::swap(order[static_cast<std::size_t>(i)],
              order[static_cast<std::size_t>(random.between(0, i))]);
  Placed placed{sycl_ext::Layout(ndim), 0};
  std::int64_t stride = 1;
  for (const int axis : order) {
    const std::int64_t length = shape[static_cast<std::size_t>(axis)];
    const std::int64_t step = length > 1 && random.below(3) == 0 ? random.between(1, 3) : 1;
    const bool reversed = random.below(4) == 0;
    placed.layout.shape()[axis] = length;
    placed.layout.strides()[axis] = reversed ? -stride * step : stride * step;
    if (reversed && length > 0) placed.first += stride * step * (length - 1);
    stride *= step * (length > 0 ? length : 1);
    if (random.below(4) == 0) stride += random.between(1, 5);  // padding
  }
  *elements = stride;
  return placed;
}

// A source may also repeat elements: some strides are 0.
inline Placed random_source(Random& random, const std::vector<std::int64_t>& shape,
                            std::int64_t* elements) {
  Placed placed = random_view(random, shape, elements);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::int64_t& stride = placed.layout.strides()[i];
    if (random.below(6) != 0) continue;
    if (stride < 0 && shape[i] > 0) placed.first += stride * (shape[i] - 1);
    stride = 0;
  }
  return placed;
}

inline std::vector<std::int64_t> random_shape(Random& random, int max_ndim, std::int64_t longest) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(random.between(0, max_ndim)));
  for (std::int64_t& length : shape) {
    length = random.below(12) == 0 ? random.between(0, 1) : random.between(1, longest);
  }
  return shape;
}

// Calls body(offset in `a`, offset in `b`), in elements, for each element.
template <class Body>
void for_each_element(const sycl_ext::Layout& a, const sycl_ext::Layout& b, const Body& body) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(a.ndim()), 0);
  for (int i = 0; i < a.ndim(); ++i) {
    if (a.shape()[i] == 0) return;
  }
  for (;;) {
    std::int64_t x = 0, y = 0;
    for (int i = 0; i < a.ndim(); ++i) {
      x += index[static_cast<std::size_t>(i)] * a.strides()[i];
      y += index[static_cast<std::size_t>(i)] * b.strides()[i];
    }
    body(x, y);
    int axis = a.ndim() - 1;
    for (; axis >= 0; --axis) {
      if (++index[static_cast<std::size_t>(axis)] < a.shape()[axis]) break;
      index[static_cast<std::size_t>(axis)] = 0;
    }
    if (axis < 0) return;
  }
}

inline void naive_copy(std::byte* to, const sycl_ext::Layout& to_layout, const std::byte* from,
                       const sycl_ext::Layout& from_layout, std::size_t itemsize) {
  const auto size = static_cast<std::int64_t>(itemsize);
  for_each_element(to_layout, from_layout, [&](std::int64_t x, std::int64_t y) {
    std::memcpy(to + x * size, from + y * size, itemsize);
  });
}

inline void fill_random(Random& random, std::vector<std::byte>* bytes) {
  for (std::byte& byte : *bytes) byte = static_cast<std::byte>(random.next());
}

}  // namespace check
