// SPDX-License-Identifier: Apache-2.0
// Export, import, and third-party structs.
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

constexpr std::int64_t huge = std::int64_t{1} << 62;

// A third-party managed tensor, on the stack; counts what its deleter is called.
template <class Managed>
struct ThirdParty {
  Managed managed{};
  std::vector<std::int64_t> shape, strides;
  int deleted = 0;

  ThirdParty(void* data, std::vector<std::int64_t> lengths, std::vector<std::int64_t> steps,
             DLDevice device)
      : shape(std::move(lengths)), strides(std::move(steps)) {
    DLTensor& dl = managed.dl_tensor;
    dl.data = data;
    dl.device = device;
    dl.ndim = static_cast<int>(shape.size());
    dl.dtype = {kDLFloat, 32, 1};
    dl.shape = shape.data();
    dl.strides = strides.empty() ? nullptr : strides.data();
    managed.manager_ctx = this;
    managed.deleter = [](Managed* self) { ++static_cast<ThirdParty*>(self->manager_ctx)->deleted; };
    if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) managed.version = {1, 3};
  }
};

template <class Managed>
void refused(ThirdParty<Managed>& given, const char* words, const DLDevice* expected = nullptr) {
  const long live = settled_allocations();
  CHECK_FAILS(buffer, words, import_managed(&given.managed, {expected}));
  CHECK(given.deleted == 1 && settled_allocations() == live);
}

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

template <class Managed>
void check_refusals() {
  using S = ThirdParty<Managed>;
  float values[6] = {};
  const DLDevice cpu{kDLCPU, 0};
  const auto good = [&] { return S(values, {2, 3}, {3, 1}, cpu); };
  {
    S s = good();
    s.managed.manager_ctx = &s;
    {
      const Imported imported = import_managed(&s.managed, {&cpu});
      CHECK(imported.tensor.on_host && imported.tensor.data == (std::byte*)values);
    }
    CHECK(s.deleted == 1);
  }
  const auto bad = [&](const char* words, auto change) {
    S s = good();
    s.managed.manager_ctx = &s;
    s.managed.dl_tensor.shape = s.shape.data();
    s.managed.dl_tensor.strides = s.strides.data();
    change(s);
    refused(s, words);
  };
  bad("-1 dimensions", [](S& s) { s.managed.dl_tensor.ndim = -1; });
  bad("65 dimensions", [](S& s) { s.managed.dl_tensor.ndim = 65; });
  bad("NULL shape", [](S& s) { s.managed.dl_tensor.shape = nullptr; });
  bad("shape[1] is -3", [](S& s) { s.shape[1] = -3; });
  bad("NULL pointer", [](S& s) { s.managed.dl_tensor.data = nullptr; });
  bad("lanes 4", [](S& s) { s.managed.dl_tensor.dtype.lanes = 4; });
  bad("code 99", [](S& s) { s.managed.dl_tensor.dtype.code = 99; });
  bad("device (2, 0)", [](S& s) { s.managed.dl_tensor.device = {kDLCUDA, 0}; });
  bad("no such device", [](S& s) { s.managed.dl_tensor.device = {kDLOneAPI, -1}; });
  bad("no such device", [](S& s) { s.managed.dl_tensor.device = {kDLOneAPI, 1 << 30}; });
  bad("not USM", [](S& s) { s.managed.dl_tensor.device = {kDLOneAPI, default_entry().id}; });
  bad("overflow", [](S& s) { s.shape = {huge, huge}; });
  bad("overflow", [](S& s) {
    s.shape = {huge, huge};
    s.managed.dl_tensor.strides = nullptr;
  });
  bad("overflow", [](S& s) { s.strides = {huge, 1}; });
  bad("address space", [](S& s) { s.strides = {-huge / 4, 1}; });
  bad("address space", [](S& s) { s.managed.dl_tensor.byte_offset = ~std::uint64_t{0}; });
  if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) {
    bad("version 2.0", [](S& s) { s.managed.version = {2, 0}; });
    bad("sub-byte", [](S& s) { s.managed.flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED; });
  }
  {
    S s = good();
    s.managed.manager_ctx = &s;
    const DLDevice announced{kDLOneAPI, 0};
    refused(s, "announced", &announced);
  }
  {
    S s = good();
    s.managed.deleter = nullptr;
    import_managed(&s.managed, {});
    CHECK_FAILS(buffer, "announced", [&] {
      const DLDevice announced{kDLCPU, 1};
      import_managed(&s.managed, {&announced});
    }());
  }
}

TEST(dlpack_refuses_legacy) { check_refusals<DLManagedTensor>(); }
TEST(dlpack_refuses_versioned) { check_refusals<DLManagedTensorVersioned>(); }

// USM of a third party: the lengths may lie, and both ends are checked.  They are so far away that
// no other block is there.
TEST(dlpack_third_party_usm) {
  const Entry& entry = default_entry();
  const DLDevice device{kDLOneAPI, entry.id};
  const Memory memory = allocate(entry, UsmKind::device, 1 << 20);
  using S = ThirdParty<DLManagedTensorVersioned>;
  {
    S s(memory->data, {1 << 18}, {1}, device);
    const Tensor tensor = import_managed(&s.managed, {&device}).tensor;
    CHECK(tensor.memory->kind() == UsmKind::device && tensor.memory->entry() == &entry);
  }
  constexpr std::int64_t far = std::int64_t{1} << 38;
  S beyond(memory->data, {far}, {1}, device);
  refused(beyond, "end beyond");
  S before(memory->data, {2}, {-far}, device);
  refused(before, "not USM");
  S offset(memory->data, {1}, {1}, device);
  offset.managed.dl_tensor.byte_offset = std::uint64_t{far};
  refused(offset, "not USM");
}
