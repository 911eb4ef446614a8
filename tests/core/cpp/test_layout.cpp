// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <vector>

#include "base/dtype.hpp"
#include "base/layout.hpp"
#include "check.hpp"
#include "samples.hpp"
#include "tensor/tensor.hpp"

using namespace sycl_ext;

namespace {

constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
using Dims = std::vector<std::int64_t>;

Layout strided(const Dims& shape, const Dims& strides) {
  return {static_cast<int>(shape.size()), shape.data(), strides.data()};
}

Layout compact(const Dims& shape, Order order = Order::c, std::size_t itemsize = 1) {
  return compact_layout(static_cast<int>(shape.size()), shape.data(), order, itemsize);
}

Dims strides_of(const Layout& layout) {
  return {layout.strides(), layout.strides() + layout.ndim()};
}

}  // namespace

TEST(layout_copies_and_moves) {
  for (const int ndim : {0, 1, 4, 5, 64}) {  // inline and on the heap
    Layout layout(ndim);
    for (int i = 0; i < ndim; ++i) {
      layout.shape()[i] = i;
      layout.strides()[i] = -i;
    }
    Layout copy = layout, assigned;
    assigned = copy;
    const Layout moved = std::move(copy);
    CHECK(copy.ndim() == 0);
    for (const Layout* one : {static_cast<const Layout*>(&assigned), &moved}) {
      CHECK(one->ndim() == ndim);
      CHECK(std::equal(one->shape(), one->shape() + ndim, layout.shape()));
      CHECK(strides_of(*one) == strides_of(layout));
    }
  }
}

TEST(layout_refuses_dimensions) {
  CHECK_FAILS(value, "65", Layout(65));
  CHECK_FAILS(value, "-1", Layout(-1));
  CHECK_FAILS(value, "shape[1] is -3", compact({2, -3}));
}

TEST(layout_compact_strides) {
  CHECK((strides_of(compact({2, 3, 4})) == Dims{12, 4, 1}));
  CHECK((strides_of(compact({2, 3, 4}, Order::f)) == Dims{1, 2, 6}));
  CHECK((strides_of(compact({0, 3})) == Dims{3, 1}));
  CHECK(strides_of(compact({})).empty());
}

TEST(layout_compact_overflow) {
  CHECK_FAILS(value, "address space", compact({huge, 2}));
  CHECK_FAILS(value, "address space", compact({huge / 2 + 1}, Order::c, 2));
  CHECK_FAILS(value, "address space", compact({0, huge, huge}));
  CHECK_FAILS(value, "address space", compact({huge / 15}, Order::f, 16));
  CHECK(element_count(compact({huge})) == huge);
}

TEST(layout_contiguity) {
  CHECK(is_contiguous(compact({2, 3}), Order::c) && !is_contiguous(compact({2, 3}), Order::f));
  CHECK(is_contiguous(strided({2, 0, 3}, {7, 7, 7}), Order::c));
  CHECK(is_contiguous(strided({1, 5}, {huge, 1}), Order::c));
  CHECK(!is_contiguous(strided({5}, {-1}), Order::c));
  CHECK(has_negative_stride(strided({5}, {-1})) && !has_negative_stride(strided({1}, {-1})));
}

TEST(layout_shares_elements) {
  CHECK(!may_share_elements(compact({2, 3, 4})) &&
        !may_share_elements(compact({2, 3, 4}, Order::f)));
  CHECK(!may_share_elements(compact({})) && !may_share_elements(strided({3, 0}, {0, 0})));
  CHECK(!may_share_elements(strided({1, 5}, {0, -2})));
  CHECK(may_share_elements(strided({3}, {0})) && may_share_elements(strided({2, 2}, {1, -1})));
  CHECK(!may_share_elements(strided({1'000'000, 2}, {3, 2})));
  CHECK(may_share_elements(strided({3, 1'000'000}, {3, 2})));
  CHECK(may_share_elements(strided({3, 2}, {2, 3})));  // axes that interleave
  CHECK(!may_share_elements(strided({2, 2}, {huge / 2, huge / 4})));
  CHECK(may_share_elements(strided({3, 2}, {huge / 8, huge / 8 * 2})));
}

TEST(layout_extent) {
  Extent extent{7, 7};
  CHECK(find_extent(strided({3, 2}, {-10, 1}), 4, &extent));
  CHECK(extent.begin == -80 && extent.end == 8 && extent.nbytes() == 88);
  CHECK(find_extent(strided({3, 0}, {huge / 4, 1}), 4, &extent) && extent.nbytes() == 0);
  CHECK(find_extent(Layout(0), 16, &extent) && extent.nbytes() == 16);
  CHECK(find_extent(strided({1}, {huge}), 16, &extent) && extent.nbytes() == 16);
  extent = {7, 7};
  for (const Layout& bad :
       {strided({-1}, {1}), strided({3}, {huge}), strided({2, 2}, {huge, huge}),
        strided({huge, 2}, {0, 0}), strided({2, 2}, {huge, -huge}), strided({huge}, {1}),
        strided({3}, {std::numeric_limits<std::int64_t>::min()})}) {
    CHECK(!find_extent(bad, 8, &extent));
    CHECK(extent.begin == 7 && extent.end == 7);
  }
}

// The extent of random layouts, against a walk over every element.
TEST(layout_extent_random) {
  check::Random random(1);
  for (int round = 0; round < 2000; ++round) {
    std::int64_t elements;
    const check::Placed placed =
        check::random_source(random, check::random_shape(random, 5, 5), &elements);
    std::int64_t lowest = 0, highest = 0, count = 0;
    check::for_each_element(placed.layout, placed.layout, [&](std::int64_t at, std::int64_t) {
      lowest = std::min(lowest, at);
      highest = std::max(highest, at);
      ++count;
    });
    Extent extent{};
    CHECK(find_extent(placed.layout, 4, &extent));
    CHECK(count == element_count(placed.layout));
    if (count == 0) {
      CHECK(extent.begin == 0 && extent.end == 0);
    } else {
      CHECK(extent.begin == 4 * lowest && extent.end == 4 * highest + 4);
      CHECK(placed.first + lowest >= 0 && placed.first + highest < elements);
    }
  }
}

// A reshape that gives strides puts each element where counting puts it.
TEST(layout_reshape_random) {
  check::Random random(2);
  int views = 0;
  for (int round = 0; round < 4000; ++round) {
    std::int64_t elements;
    const check::Placed from =
        check::random_view(random, check::random_shape(random, 4, 6), &elements);
    std::int64_t left = element_count(from.layout);
    Dims shape;
    for (std::int64_t factor = 2; left > 1 && factor <= left;) {
      if (left % factor != 0) {
        ++factor;
        continue;
      }
      left /= factor;
      if (shape.empty() || random.below(2)) {
        shape.push_back(factor);
      } else {
        shape.back() *= factor;
      }
    }
    if (left == 0) shape = {random.between(0, 3), 0};
    Layout result;
    if (!reshape_layout(from.layout, compact(shape), &result)) continue;
    ++views;
    std::vector<std::int64_t> wanted, found;
    check::for_each_element(from.layout, from.layout,
                            [&](std::int64_t at, std::int64_t) { wanted.push_back(at); });
    check::for_each_element(result, result,
                            [&](std::int64_t at, std::int64_t) { found.push_back(at); });
    CHECK(wanted == found);
  }
  CHECK(views > 1000);
}

// A stride of an axis of one element says nothing, however large it is.
TEST(layout_reshape_of_lying_strides) {
  Layout result;
  CHECK(reshape_layout(strided({1, 6}, {huge, 1}), compact({2, 3}), &result));
  CHECK((strides_of(result) == Dims{3, 1}));
  reshape_layout(strided({2, 2}, {huge / 2, huge / 2}), compact({4}), &result);
  reshape_layout(strided({4}, {huge / 3}), compact({2, 2, 1}), &result);
}

TEST(dtype_table) {
  for (const DType& entry : dtypes) {
    CHECK(&dtype_named(entry.name) == &entry);
    CHECK(&dtype_from_dlpack(entry.dl()) == &entry);
    CHECK(&dtypes[index_of(entry)] == &entry);
    CHECK(entry.bits % 8 == 0 && entry.itemsize() >= 1 && entry.itemsize() <= 16);
  }
  CHECK_FAILS(value, "flaot", dtype_named("flaot"));
  CHECK_FAILS(buffer, "lanes 2", dtype_from_dlpack({kDLFloat, 32, 2}));
  CHECK_FAILS(buffer, "bits 80", dtype_from_dlpack({kDLFloat, 80, 1}));
  int known = 0;
  for (int code = 0; code < 256; ++code) {
    for (int bits = 0; bits < 256; ++bits) {
      known += find_dtype({static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), 1}) !=
               nullptr;
    }
  }
  CHECK(known == static_cast<int>(dtypes.size()));
}
