// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "check.hpp"
#include "samples.hpp"
#include "tensor/strided.hpp"

using namespace sycl_ext;

namespace {

// The bytes around the elements stay as they are.
void compare(check::Random& random, const std::vector<std::int64_t>& shape, std::size_t itemsize) {
  std::int64_t to_elements, from_elements;
  const check::Placed to = check::random_view(random, shape, &to_elements);
  const check::Placed from = check::random_source(random, shape, &from_elements);
  const std::size_t shift = random.below(2) ? 0 : 1;  // element addresses need not be aligned
  std::vector<std::byte> source(static_cast<std::size_t>(from_elements) * itemsize + shift);
  std::vector<std::byte> found(static_cast<std::size_t>(to_elements) * itemsize + shift);
  check::fill_random(random, &source);
  check::fill_random(random, &found);
  std::vector<std::byte> wanted = found;
  const auto at = [&](std::vector<std::byte>& block, std::int64_t first) {
    return block.data() + shift + first * static_cast<std::int64_t>(itemsize);
  };
  check::naive_copy(at(wanted, to.first), to.layout, at(source, from.first), from.layout, itemsize);
  copy_strided(
      make_loops(at(found, to.first), to.layout, at(source, from.first), from.layout, itemsize));
  CHECK(found == wanted);
}

}  // namespace

TEST(strided_against_a_naive_loop) {
  check::Random random(3);
  for (int round = 0; round < 3000; ++round) {
    const auto shape = check::random_shape(random, 5, 6);
    compare(random, shape, std::size_t{1} << random.below(5));
  }
}

// Planes that are larger than a tile, of sides that are not a multiple of a square.
TEST(strided_planes) {
  check::Random random(4);
  for (int round = 0; round < 60; ++round) {
    const std::int64_t depth = random.between(1, 2);
    compare(random, {random.between(1, 200), depth, random.between(1, 200)},
            std::size_t{1} << random.below(5));
  }
}

TEST(strided_many_axes) {
  check::Random random(5);
  for (int round = 0; round < 100; ++round) {
    std::vector<std::int64_t> shape(static_cast<std::size_t>(random.between(6, 64)), 1);
    for (int i = 0; i < 6; ++i) {
      shape[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(shape.size())))] = 2;
    }
    compare(random, shape, 4);
  }
}

TEST(strided_loops_are_few) {
  const std::int64_t shape[] = {4, 1, 5, 6};
  const Layout compact = compact_layout(4, shape, Order::c, 4);
  std::vector<std::byte> a(480), b(480);
  const CopyLoops loops = make_loops(a.data(), compact, b.data(), compact, 4);
  CHECK(loops.ndim == 1 && loops.contiguous() && loops.nbytes() == 480);
}
