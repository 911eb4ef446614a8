// SPDX-License-Identifier: Apache-2.0
// Shape and element strides, and the arithmetic on them.  Every product and sum that a
// third party's numbers can reach is checked for overflow here, and nowhere else.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sycl_ext {

inline constexpr int max_ndim = 64;  // NumPy's limit

// Shape and strides of one array, both in elements; up to `inline_ndim` without an allocation.
// A moved-from Layout must not be read.
class Layout {
 public:
  explicit Layout(int ndim = 0);

  int ndim() const noexcept { return ndim_; }
  std::int64_t* shape() noexcept { return values(); }
  std::int64_t* strides() noexcept { return values() + ndim_; }
  const std::int64_t* shape() const noexcept { return values(); }
  const std::int64_t* strides() const noexcept { return values() + ndim_; }

 private:
  static constexpr int inline_ndim = 4;
  std::int64_t* values() noexcept { return heap_.empty() ? inline_ : heap_.data(); }
  const std::int64_t* values() const noexcept { return heap_.empty() ? inline_ : heap_.data(); }

  int ndim_;
  std::int64_t inline_[2 * inline_ndim];
  std::vector<std::int64_t> heap_;  // empty: the values are inline
};

enum class Order : char { c = 'C', f = 'F' };

// The layout of a shape and strides; without strides, the compact one in this order.  Error(value)
// for a negative length, too many dimensions, a NULL shape, or a number of bytes that does not fit
// into the address space.
Layout read_layout(int ndim, const std::int64_t* shape, Order order, std::size_t itemsize,
                   const std::int64_t* strides = nullptr);

// A stride in bytes, for a layout that has passed one of the checks of this file.  The product
// overflows only for an axis with fewer than two elements, whose stride is never used.
inline std::int64_t byte_stride(const Layout& layout, int axis, std::size_t itemsize) noexcept {
  std::int64_t nbytes;
  (void)__builtin_mul_overflow(layout.strides()[axis], itemsize, &nbytes);
  return nbytes;
}

// Number of elements; the layout must have passed one of the checks of this file.
inline std::int64_t element_count(const Layout& layout) noexcept {
  std::int64_t count = 1;
  for (int i = 0; i < layout.ndim(); ++i) count *= layout.shape()[i];
  return count;
}

bool is_contiguous(const Layout& layout, Order order) noexcept;

// Whether a stride of an axis with more than one element is negative.
bool has_negative_stride(const Layout& layout) noexcept;

// False: every index has an element of its own.  True: several indices share an element (a stride
// of 0, overlapping windows), or axes interleave, which they never do in a slice or a transposition
// of a compact array.  The layout must have passed one of the checks of this file.
bool may_share_elements(const Layout& layout) noexcept;

// Bytes that the elements occupy, relative to the first element: [begin, end).
struct Extent {
  std::int64_t begin;
  std::int64_t end;
  std::size_t nbytes() const noexcept { return static_cast<std::size_t>(end - begin); }
};

// False when a number overflows; *extent is then untouched.  The layout is one of read_layout().
bool find_extent(const Layout& layout, std::size_t itemsize, Extent* extent) noexcept;

}  // namespace sycl_ext
