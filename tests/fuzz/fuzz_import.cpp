// SPDX-License-Identifier: Apache-2.0
// Third-party structs, every field: the deleter runs exactly once, nothing leaks, only an
// Error comes out, and every view that is believed reaches memory that is there.
//
// The pointers are those of real blocks of each kind, and the lengths may lie as they like, as long
// as it is a lie that a consumer can see through: shape and strides hold `ndim` numbers, and host
// memory, which no consumer can measure, is not read.
#include <dlpack/dlpack.h>

#include <array>
#include <chrono>
#include <type_traits>
#include <vector>

#include "dlpack/export.hpp"
#include "dlpack/import.hpp"
#include "entries.hpp"
#include "input.hpp"
#include "tensor/copy.hpp"

using namespace sycl_ext;

namespace {

constexpr std::size_t block_bytes = 1 << 20;

struct Blocks {
  std::vector<Memory> usm;  // of each kind, of a private context, of a part of the device
  Tensor exported;
  std::array<std::byte, 4096> host;
};

const Blocks& blocks() {
  static const Blocks* const made = [] {
    const std::int64_t shape[] = {16, 16};
    const Layout layout = read_layout(2, shape, Order::c, 4);
    auto* blocks = new Blocks{
        {}, make_tensor(default_entry(), UsmKind::shared, dtype_named("float32"), layout), {}};
    for (std::size_t i = 0; i < 5; ++i) {
      blocks->usm.push_back(
          allocate(entries()[i < 3 ? 0 : i - 2], static_cast<UsmKind>(i % 3), block_bytes));
    }
    return blocks;
  }();
  return *made;
}

int deleted;

template <class Managed>
void fuzz(Input& input) {
  Managed managed{};
  std::array<std::int64_t, max_ndim> shape, strides;
  DLTensor& dl = managed.dl_tensor;
  const std::uint8_t where = input.take<std::uint8_t>();
  const bool usm = where % 10 < 5;
  const std::int64_t shift = input.flip() ? input.dimension() : input.between(0, 4096);
  void* base = usm ? blocks().usm[where % 10]->data : const_cast<std::byte*>(blocks().host.data());
  switch (where % 10) {
    case 8:
      dl.data = nullptr;
      break;
    case 9:
      dl.data = reinterpret_cast<void*>(input.take<std::uint64_t>());
      break;
    default:
      dl.data = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(base) +
                                        static_cast<std::uintptr_t>(shift));
  }
  const std::uint8_t device = input.take<std::uint8_t>();
  dl.device = {static_cast<DLDeviceType>(device % 4 == 0   ? kDLCPU
                                         : device % 4 == 3 ? input.take<std::int32_t>() & 0x7fffffff
                                                           : kDLOneAPI),
               device % 16 < 8    ? 0
               : device % 16 < 14 ? static_cast<std::int32_t>(input.between(0, 5)) - 1
                                  : input.take<std::int32_t>()};
  const std::uint8_t many = input.take<std::uint8_t>();
  dl.ndim = many < 200 ? many % 6 : many < 250 ? many - 190 : input.take<std::int32_t>();
  if (input.take<std::uint8_t>() % 4) {
    dl.dtype = dtypes[static_cast<std::size_t>(input.between(0, 22))].dl();
  } else {
    dl.dtype = input.take<DLDataType>();
  }
  // Only as many numbers are there as a struct with this ndim promises.
  const int promised = std::min(std::max(dl.ndim, 0), max_ndim);
  for (int i = 0; i < promised; ++i) {
    shape[static_cast<std::size_t>(i)] = input.dimension();
    strides[static_cast<std::size_t>(i)] = input.dimension();
  }
  dl.shape = input.take<std::uint8_t>() % 16 ? shape.data() : nullptr;
  dl.strides = input.take<std::uint8_t>() % 4 ? strides.data() : nullptr;
  dl.byte_offset =
      input.take<std::uint8_t>() % 4 ? 0 : static_cast<std::uint64_t>(input.dimension());
  managed.manager_ctx = &managed;
  const bool with_deleter = input.take<std::uint8_t>() % 16;
  if (with_deleter) managed.deleter = [](Managed*) { ++deleted; };
  if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) {
    const std::uint8_t version = input.take<std::uint8_t>();
    managed.version = {version < 240 ? 1u : version, input.take<std::uint8_t>()};
    managed.flags = version % 4 ? version & 3 : input.take<std::uint64_t>();
  }
  ImportOptions options;
  const DLDevice expected{kDLOneAPI, 0};
  const std::uint8_t how = input.take<std::uint8_t>();
  if (how % 8 == 0) options.expected = &expected;
  options.find_usm = how & 8;
  if (options.find_usm && has_usm(default_entry(), UsmKind::system))
    options.host_reader = &default_entry();
  Managed* handed = &managed;
  const bool is_ours = how % 32 == 1;  // an export of ours that somebody has altered
  if (is_ours) {
    dl.data = blocks().exported.data + shift % 2048;
    handed = export_managed<Managed>(blocks().exported, {expected});
    managed.manager_ctx = handed->manager_ctx;
    managed.deleter = handed->deleter;
    *handed = managed;
  }

  deleted = 0;
  const long live = live_allocations();
  try {
    const Imported imported = import_managed(handed, options);
    const Tensor& tensor = imported.tensor;
    const bool claims_usm = dl.device.device_type == kDLOneAPI;
    REQUIRE(tensor.size() >= 0 && tensor.layout.ndim() == dl.ndim);
    REQUIRE(tensor.size() == 0 || tensor.data);
    REQUIRE(deleted == 0);
    const std::byte* begin = tensor.memory->data;
    if (tensor.size() != 0 && tensor.memory->entry && tensor.memory->kind != UsmKind::system) {
      // It was believed, so it is all there: read the first, the last and the lowest element.
      Extent extent{};
      REQUIRE(find_extent(tensor.layout, tensor.dtype->itemsize(), &extent));
      const volatile std::byte* data = tensor.data;
      (void)data[extent.begin];
      (void)data[extent.end - 1];
      REQUIRE(begin && tensor.data + extent.begin >= begin);
      if (tensor.size() <= 4096 && (claims_usm || is_ours)) copy_to_host(tensor);
    }
    // Views of it, which must stay inside whatever they are asked for.
    const std::int64_t length = input.dimension(), step = input.dimension();
    try {
      const Layout layout = read_layout(1, &length, Order::c, tensor.dtype->itemsize(), &step);
      const Tensor view = make_view(tensor, input.dimension(), layout);
      Extent extent{};
      REQUIRE(find_extent(view.layout, view.dtype->itemsize(), &extent));
      REQUIRE(view.size() == 0 || (view.data + extent.begin >= begin &&
                                   view.data + extent.end <= begin + view.memory->nbytes));
    } catch (const Error&) {
    }
    // And on to the next consumer.
    if (!tensor.readonly && is_where_announced(tensor)) {
      auto* again = export_managed<DLManagedTensor>(tensor, {tensor.dl_device()});
      REQUIRE(import_managed(again, {}).tensor.size() == tensor.size());
    }
  } catch (const Error& error) {
    REQUIRE(error.kind() == Error::Kind::buffer);
  }
  // A block that was handed out goes when its queues were seen idle.
  while (deferred_frees() > 0) flush_deferred_frees(std::chrono::milliseconds(100));
  REQUIRE(deleted == (with_deleter && !is_ours));
  REQUIRE(live_allocations() == live);
  REQUIRE(live_exports() == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t nbytes) {
  blocks();
  Input input(data, nbytes);
  if (input.flip()) {
    fuzz<DLManagedTensor>(input);
  } else {
    fuzz<DLManagedTensorVersioned>(input);
  }
  return 0;
}
