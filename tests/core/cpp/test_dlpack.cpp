// SPDX-License-Identifier: Apache-2.0
// Exports, and imports of them; fuzz_import.cpp has the structs of third parties.
#include <dlpack/dlpack.h>

#include <vector>

#include "check.hpp"
#include "dlpack/export.hpp"
#include "dlpack/import.hpp"
#include "samples.hpp"
#include "settled.hpp"
#include "tensor/copy.hpp"

using namespace sycl_ext;

namespace {

template <class Managed>
void round_trip(const Tensor& tensor, bool through_known) {
  const long exports = live_exports();
  Managed* managed = export_managed<Managed>(tensor, {tensor.dl_device()});
  CHECK(live_exports() == exports + 1);
  const Memory* known = exported_memory(managed);
  CHECK(known && *known == tensor.memory);
  {
    const DLDevice device = tensor.dl_device();
    const Imported imported =
        import_managed(managed, {&device, false, through_known ? known : nullptr});
    const Tensor& found = imported.tensor;
    CHECK(!imported.copied && found.readonly == tensor.readonly);
    CHECK(found.dtype == tensor.dtype && found.size() == tensor.size());
    CHECK(tensor.size() == 0 || found.data == tensor.data);
    CHECK(found.layout.ndim() == tensor.layout.ndim());
    for (int i = 0; i < found.layout.ndim(); ++i) {
      CHECK(found.layout.shape()[i] == tensor.layout.shape()[i]);
      CHECK(found.layout.strides()[i] == tensor.layout.strides()[i]);
    }
    CHECK(found.memory->entry() == tensor.memory->entry());
    if (tensor.size() != 0) CHECK(found.memory->kind() == tensor.memory->kind());
  }
  CHECK(live_exports() == exports);
}

}  // namespace

TEST(dlpack_round_trips) {
  check::Random random(8);
  for (int round = 0; round < 500; ++round) {
    std::int64_t elements;
    const check::Placed placed =
        check::random_view(random, check::random_shape(random, 6, 5), &elements);
    const DType& dtype = dtypes[static_cast<std::size_t>(random.below(23))];
    const std::int64_t shape[] = {elements};
    Tensor tensor =
        make_view(make_tensor(default_entry(), static_cast<UsmKind>(random.below(3)), dtype,
                              compact_layout(1, shape, Order::c, dtype.itemsize())),
                  placed.first, placed.layout);
    round_trip<DLManagedTensor>(tensor, round % 2);
    round_trip<DLManagedTensorVersioned>(tensor, round % 2);
    tensor.readonly = true;
    round_trip<DLManagedTensorVersioned>(tensor, round % 2);
    CHECK_FAILS(buffer, "read-only", export_managed<DLManagedTensor>(tensor, {}));
  }
}

TEST(dlpack_an_export_outlives_its_tensor) {
  const long live = settled_allocations();
  DLManagedTensorVersioned* managed = [] {
    const std::int64_t shape[] = {3};
    return export_managed<DLManagedTensorVersioned>(
        make_tensor(default_entry(), UsmKind::shared, dtype_named("int8"),
                    compact_layout(1, shape, Order::c, 1)),
        {{kDLOneAPI, default_entry().id}, true});
  }();
  CHECK(settled_allocations() == live + 1);
  static_cast<std::byte*>(managed->dl_tensor.data)[2] = std::byte{7};
  CHECK(managed->flags == DLPACK_FLAG_BITMASK_IS_COPIED);
  managed->deleter(managed);
  CHECK(settled_allocations() == live);
}
