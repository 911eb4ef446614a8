// SPDX-License-Identifier: Apache-2.0
// Devices, USM, tensors and the copy engine, on whatever devices the process sees.
#include <array>
#include <vector>

#include "check.hpp"
#include "runtime/devices/device_table.hpp"
#include "samples.hpp"
#include "tensor/copy.hpp"
#include "tensor/tensor.hpp"

using namespace sycl_ext;

namespace {

constexpr std::array<UsmKind, 3> kinds{UsmKind::device, UsmKind::shared, UsmKind::host};

Layout compact(const std::vector<std::int64_t>& shape, std::size_t itemsize) {
  return read_layout(static_cast<int>(shape.size()), shape.data(), Order::c, itemsize);
}

// The bytes of a compact tensor, read by way of a host copy.
std::vector<std::byte> bytes_of(const Tensor& tensor) {
  const Tensor host = copy_to_host(tensor);
  return {host.data, host.data + host.nbytes()};
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
    for (const Layout* other : {static_cast<const Layout*>(&assigned), &moved}) {
      CHECK(other->ndim() == ndim);
      CHECK(std::equal(other->shape(), other->shape() + ndim, layout.shape()));
      CHECK(std::equal(other->strides(), other->strides() + ndim, layout.strides()));
    }
  }
}

TEST(view_stays_inside) {
  const Tensor tensor =
      make_tensor(default_entry(), UsmKind::shared, dtype_named("int32"), compact({4, 5}, 4));
  const auto view = [&](std::int64_t offset, std::vector<std::int64_t> shape,
                        std::vector<std::int64_t> strides) {
    return make_view(tensor, offset,
                     read_layout(int(shape.size()), shape.data(), Order::c, 4, strides.data()));
  };
  CHECK(view(19, {20}, {-1}).data == tensor.data + 76);
  CHECK(view(0, {0}, {1}).size() == 0);
  CHECK_FAILS(value, "block of 80 bytes", view(1, {20}, {1}));
  CHECK_FAILS(value, "block of 80 bytes", view(0, {2}, {-1}));
  CHECK_FAILS(value, "block of 80 bytes", view(-1, {1}, {1}));
  CHECK_FAILS(value, "overflow", view(std::int64_t{1} << 62, {1}, {1}));
  CHECK_FAILS(value, "overflow", view(0, {3}, {std::int64_t{1} << 61}));
}

// Every pair of kinds, strides on both sides, against the naive loop.
TEST(copy_random) {
  check::Random random(6);
  constexpr const char* names[] = {"uint8", "int16", "float32", "float64", "complex128"};
  const Entry& entry = default_entry();
  for (int round = 0; round < 400; ++round) {
    const DType& dtype = dtype_named(names[random.below(5)]);
    const std::size_t itemsize = dtype.itemsize();
    const auto shape = check::random_shape(random, 4, round % 20 == 0 ? 40 : 6);
    std::int64_t to_elements, from_elements;
    const check::Placed to = check::random_view(random, shape, &to_elements);
    const check::Placed from = check::random_source(random, shape, &from_elements);

    std::vector<std::byte> source(static_cast<std::size_t>(from_elements) * itemsize);
    std::vector<std::byte> target(static_cast<std::size_t>(to_elements) * itemsize);
    check::fill_random(random, &source);
    check::fill_random(random, &target);
    const auto block = [&](const std::vector<std::byte>& bytes, std::int64_t elements) {
      const Tensor host = make_host_tensor(dtype, compact({elements}, itemsize));
      std::copy(bytes.begin(), bytes.end(), host.data);
      if (random.below(4) == 0) return host;
      return copy_to_entry(host, entry, kinds[static_cast<std::size_t>(random.below(3))]);
    };
    const Tensor to_block = block(target, to_elements), from_block = block(source, from_elements);
    copy_elements(make_view(to_block, to.first, to.layout),
                  make_view(from_block, from.first, from.layout));
    const auto size = static_cast<std::int64_t>(itemsize);
    check::naive_copy(target.data() + to.first * size, to.layout, source.data() + from.first * size,
                      from.layout, itemsize);
    CHECK(bytes_of(to_block) == target);
  }
}

// Source and target in one block, as they may lie to each other in any way.
TEST(copy_overlapping) {
  check::Random random(7);
  for (int round = 0; round < 300; ++round) {
    const auto shape = check::random_shape(random, 3, 5);
    std::int64_t to_elements, from_elements;
    const check::Placed to = check::random_view(random, shape, &to_elements);
    const check::Placed from = check::random_source(random, shape, &from_elements);
    const std::int64_t elements = std::max(to_elements, from_elements) + 4;
    std::vector<std::byte> bytes(static_cast<std::size_t>(elements) * 2);
    check::fill_random(random, &bytes);
    Tensor block =
        make_tensor(default_entry(), UsmKind::shared, dtype_named("int16"), compact({elements}, 2));
    std::copy(bytes.begin(), bytes.end(), block.data);
    const std::int64_t to_at = to.first + random.below(4), from_at = from.first + random.below(4);
    copy_elements(make_view(block, to_at, to.layout), make_view(block, from_at, from.layout));
    std::vector<std::byte> before = bytes;
    check::naive_copy(bytes.data() + 2 * to_at, to.layout, before.data() + 2 * from_at, from.layout,
                      2);
    CHECK(bytes_of(block) == bytes);
  }
}
