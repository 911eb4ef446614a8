// SPDX-License-Identifier: Apache-2.0
#include "base/layout.hpp"

#include <array>
#include <cstdlib>

#include "base/error.hpp"

namespace sycl_ext {

Layout::Layout(int ndim) : ndim_(ndim), inline_{} {
  if (ndim < 0 || ndim > max_ndim) {
    fail(Error::Kind::value, "ndim is ", ndim, "; it must be between 0 and ", max_ndim);
  }
  if (ndim > inline_ndim) heap_.resize(2 * std::size_t(ndim));
}

Layout read_layout(int ndim, const std::int64_t* shape, Order order, std::size_t itemsize,
                   const std::int64_t* strides) {
  Layout layout(ndim);
  if (ndim > 0 && !shape) {
    fail(Error::Kind::value, "shape is NULL, but the array has ", ndim, " dimensions");
  }
  // Zero lengths count as one here, so that the strides of an empty array stay meaningful.  The
  // bytes of a broadcast array are counted as well: they can overflow inside a small extent.
  std::int64_t stride = 1;
  for (int i = 0; i < ndim; ++i) {
    const int axis = order == Order::c ? ndim - 1 - i : i;
    if (shape[axis] < 0) {
      fail(Error::Kind::value, "shape[", axis, "] is ", shape[axis],
           "; a length cannot be negative");
    }
    layout.shape()[axis] = shape[axis];
    layout.strides()[axis] = strides ? strides[axis] : stride;
    std::int64_t nbytes;
    if (__builtin_mul_overflow(stride, std::max<std::int64_t>(shape[axis], 1), &stride) ||
        __builtin_mul_overflow(stride, static_cast<std::int64_t>(itemsize), &nbytes)) {
      fail(Error::Kind::value, "an array of this shape, with ", itemsize,
           " bytes per element, exceeds the address space; shape[", axis, "] is ", shape[axis]);
    }
  }
  return layout;
}

bool is_contiguous(const Layout& layout, Order order) noexcept {
  if (element_count(layout) == 0) return true;
  std::int64_t expected = 1;
  for (int i = 0; i < layout.ndim(); ++i) {
    const int axis = order == Order::c ? layout.ndim() - 1 - i : i;
    const std::int64_t length = layout.shape()[axis];
    if (length != 1 && layout.strides()[axis] != expected) return false;
    expected *= length;
  }
  return true;
}

bool has_negative_stride(const Layout& layout) noexcept {
  for (int i = 0; i < layout.ndim(); ++i) {
    if (layout.shape()[i] > 1 && layout.strides()[i] < 0) return true;
  }
  return false;
}

bool may_share_elements(const Layout& layout) noexcept {
  struct Axis {
    std::int64_t stride, last;
  };
  std::array<Axis, max_ndim> axes;
  int count = 0;
  for (int i = 0; i < layout.ndim(); ++i) {
    const std::int64_t length = layout.shape()[i], stride = std::abs(layout.strides()[i]);
    if (length == 0) return false;
    if (length > 1) axes[count++] = {stride, length - 1};
  }
  std::sort(axes.begin(), axes.begin() + count,
            [](const Axis& a, const Axis& b) { return a.stride < b.stride; });
  std::int64_t below = 0;  // how far the axes with shorter strides reach together
  for (int i = 0; i < count; ++i) {
    if (axes[i].stride <= below) return true;
    below += axes[i].last * axes[i].stride;
  }
  return false;
}

bool find_extent(const Layout& layout, std::size_t itemsize, Extent* extent) noexcept {
  const auto size = static_cast<std::int64_t>(itemsize);
  std::int64_t begin = 0, end = size, reach;
  bool empty = false;
  for (int i = 0; i < layout.ndim(); ++i) {
    const std::int64_t length = layout.shape()[i];
    empty = empty || length == 0;
    const auto steps = std::max<std::int64_t>(length - 1, 0);
    if (__builtin_mul_overflow(layout.strides()[i], steps, &reach) ||
        __builtin_mul_overflow(reach, size, &reach)) {
      return false;
    }
    std::int64_t& bound = reach < 0 ? begin : end;
    if (__builtin_add_overflow(bound, reach, &bound)) return false;
  }
  if (__builtin_sub_overflow(end, begin, &reach)) return false;
  *extent = empty ? Extent{0, 0} : Extent{begin, end};
  return true;
}

}  // namespace sycl_ext
