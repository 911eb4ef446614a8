// SPDX-License-Identifier: Apache-2.0
// Copies with any strides on both sides, in blocks of exactly the bytes that they may touch (which
// AddressSanitizer watches), against a loop over the elements.
#include <cstdlib>
#include <memory>
#include <vector>

#include "input.hpp"
#include "tensor/strided.hpp"

using namespace sycl_ext;

namespace {

constexpr std::int64_t most_elements = 2048;

struct Side {
  Layout layout;
  std::int64_t first = 0;     // element, in the block
  std::int64_t elements = 1;  // of the block
};

// The axes in some order, each with a gap or not, reversed or not; of a source also repeated.
Side make_side(Input& input, int ndim, const std::int64_t* shape, bool source) {
  Side side{Layout(ndim)};
  std::int64_t stride = input.between(1, 2);
  int order[8];
  for (int i = 0; i < ndim; ++i) order[i] = i;
  for (int i = ndim - 1; i > 0; --i) std::swap(order[i], order[input.between(0, i)]);
  for (int i = 0; i < ndim; ++i) {
    const int axis = order[i];
    const std::uint8_t how = input.take<std::uint8_t>();
    side.layout.shape()[axis] = shape[axis];
    std::int64_t step = stride;
    if (source && how % 8 == 7) step = 0;
    if (how & 16) step = -step;
    const std::int64_t reach = step * (shape[axis] - 1);
    side.layout.strides()[axis] = step;
    if (reach < 0) side.first -= reach;
    side.elements += std::abs(reach);
    if (step != 0) stride = stride * shape[axis] + ((how & 32) ? how % 4 : 0);
  }
  return side;
}

struct Block {
  explicit Block(std::size_t nbytes, std::uint8_t seed) : nbytes(nbytes) {
    data = static_cast<std::byte*>(std::malloc(nbytes));
    for (std::size_t i = 0; i < nbytes; ++i) data[i] = static_cast<std::byte>(i * 151 + seed);
  }
  ~Block() { std::free(data); }
  std::byte* data;
  std::size_t nbytes;
};

void naive(std::byte* to, const Layout& a, const std::byte* from, const Layout& b,
           std::int64_t itemsize) {
  std::int64_t index[8] = {};
  for (;;) {
    std::int64_t x = 0, y = 0;
    for (int i = 0; i < a.ndim(); ++i) {
      x += index[i] * a.strides()[i];
      y += index[i] * b.strides()[i];
    }
    std::memcpy(to + x * itemsize, from + y * itemsize, static_cast<std::size_t>(itemsize));
    int axis = a.ndim() - 1;
    for (; axis >= 0; --axis) {
      if (++index[axis] < a.shape()[axis]) break;
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t nbytes) {
  Input input(data, nbytes);
  const int ndim = static_cast<int>(input.between(0, 5));
  const std::size_t itemsize = std::size_t{1} << input.between(0, 4);
  std::int64_t shape[8], count = 1;
  for (int i = 0; i < ndim; ++i) {
    shape[i] = input.between(1, std::min<std::int64_t>(150, most_elements / count));
    count *= shape[i];
  }
  const Side to = make_side(input, ndim, shape, false);
  const Side from = make_side(input, ndim, shape, true);
  if (to.elements > 4 * most_elements || from.elements > 4 * most_elements) return 0;
  const Block source(static_cast<std::size_t>(from.elements) * itemsize, 1);
  const Block found(static_cast<std::size_t>(to.elements) * itemsize, 2);
  const Block wanted(static_cast<std::size_t>(to.elements) * itemsize, 2);
  const auto size = static_cast<std::int64_t>(itemsize);
  naive(wanted.data + to.first * size, to.layout, source.data + from.first * size, from.layout,
        size);
  copy_strided(make_loops(found.data + to.first * size, to.layout, source.data + from.first * size,
                          from.layout, itemsize));
  REQUIRE(std::memcmp(found.data, wanted.data, found.nbytes) == 0);
  return 0;
}
