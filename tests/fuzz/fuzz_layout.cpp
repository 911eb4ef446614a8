// SPDX-License-Identifier: Apache-2.0
// Shapes and strides of any size: no number overflows, and the promises about an extent, a
// compact layout and a reshape holds, compared with arithmetic of 128 bits.
#include <vector>

#include "base/error.hpp"
#include "base/layout.hpp"
#include "input.hpp"
#include "tensor/tensor.hpp"

using namespace sycl_ext;
__extension__ typedef __int128 Wide;

namespace {

void check_extent(const Layout& layout, std::size_t itemsize, const Extent& extent) {
  Wide lowest = 0, highest = 0, count = 1;
  for (int i = 0; i < layout.ndim(); ++i) {
    REQUIRE(layout.shape()[i] >= 0);
    count *= layout.shape()[i];
    if (layout.shape()[i] == 0) continue;
    const Wide reach = Wide(layout.shape()[i] - 1) * layout.strides()[i];
    (reach < 0 ? lowest : highest) += reach;
  }
  REQUIRE(element_count(layout) == count);
  if (count == 0) {
    REQUIRE(extent.begin == 0 && extent.end == 0);
    return;
  }
  const Wide size = static_cast<Wide>(itemsize);
  REQUIRE(extent.begin == lowest * size && extent.end == (highest + 1) * size);
  REQUIRE(Wide(extent.nbytes()) == (highest - lowest + 1) * size);
}

// The n-th element in C order.
Wide offset_of(const Layout& layout, std::int64_t number) {
  Wide offset = 0;
  for (int i = layout.ndim() - 1; i >= 0; --i) {
    offset += Wide(number % layout.shape()[i]) * layout.strides()[i];
    number /= layout.shape()[i];
  }
  return offset;
}

void check_reshape(Input& input, const Layout& layout) {
  std::vector<std::int64_t> target;
  std::int64_t left = element_count(layout);
  for (int i = 0; i < 8 && left > 1; ++i) {
    const std::int64_t factor = input.flip() ? input.between(1, 12) : input.dimension();
    if (factor <= 0 || left % factor != 0) continue;
    target.push_back(factor);
    left /= factor;
  }
  if (left != 1) target.push_back(left);
  const int ndim = static_cast<int>(target.size());
  try {
    const Layout compact = compact_layout(ndim, target.data(), Order::c, 1);
    REQUIRE(is_contiguous(compact, Order::c));
    Layout result;
    if (!reshape_layout(layout, compact, &result)) {
      REQUIRE(!is_contiguous(layout, Order::c));
      return;
    }
    const std::int64_t count = element_count(layout);
    REQUIRE(element_count(result) == count);
    if (count == 0) return;
    for (int i = 0; i < 16; ++i) {
      const auto number = static_cast<std::int64_t>(input.take<std::uint64_t>() % count);
      REQUIRE(offset_of(layout, number) == offset_of(result, number));
    }
    REQUIRE(offset_of(layout, count - 1) == offset_of(result, count - 1));
  } catch (const Error& error) {
    REQUIRE(error.kind() == Error::Kind::value);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t nbytes) {
  Input input(data, nbytes);
  const int ndim = static_cast<int>(input.between(0, 70));
  const std::size_t itemsize = std::size_t{1} << input.between(0, 4);
  try {
    Layout layout(ndim % 9 == 8 ? ndim : ndim % 9 % 7);
    for (int i = 0; i < layout.ndim(); ++i) {
      layout.shape()[i] = input.dimension();
      layout.strides()[i] = input.dimension();
    }
    try {
      const Layout compact = compact_layout(layout.ndim(), layout.shape(), Order::c, itemsize);
      Extent extent{};
      REQUIRE(find_extent(compact, itemsize, &extent));
      REQUIRE(extent.nbytes() == static_cast<std::size_t>(element_count(compact)) * itemsize);
      REQUIRE(is_contiguous(compact, Order::c) && !has_negative_stride(compact));
    } catch (const Error& error) {
      REQUIRE(error.kind() == Error::Kind::value);
    }
    Extent extent{};
    if (find_extent(layout, itemsize, &extent)) {
      check_extent(layout, itemsize, extent);
      (void)is_contiguous(layout, Order::c);
      (void)is_contiguous(layout, Order::f);
      check_reshape(input, layout);
      const Layout copy = layout;
      REQUIRE(element_count(copy) == element_count(layout));
    }
  } catch (const Error& error) {
    REQUIRE(error.kind() == Error::Kind::value && ndim > max_ndim);
  }
  return 0;
}
