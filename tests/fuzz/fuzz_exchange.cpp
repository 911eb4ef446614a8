// SPDX-License-Identifier: Apache-2.0
// Round trips: exports of tensors with any layout, of any memory and entry,
// altered on the way or not, and imported as what they say they are.
//
// An export that nobody touched comes back as it was, byte by byte; an altered one is refused, or
// reaches nothing but the memory behind it.  Each deleter runs once in every case.
#include <dlpack/dlpack.h>

#include <chrono>
#include <optional>
#include <type_traits>
#include <vector>

#include "dlpack/export.hpp"
#include "dlpack/import.hpp"
#include "entries.hpp"
#include "input.hpp"
#include "tensor/copy.hpp"

using namespace sycl_ext;

namespace {

constexpr std::int64_t most_elements = 600;
constexpr std::int64_t most_copied = 40000;  // altered strides repeat elements

// A view of fresh memory, which it fills: axes in any order, with gaps, reversed, repeated.
Tensor make_sample(Input& input) {
  const DType& dtype = dtypes[static_cast<std::size_t>(input.between(0, 22))];
  const int ndim = static_cast<int>(input.between(0, 7));
  Layout layout(ndim);
  std::int64_t stride = 1, first = 0, count = 1;
  for (int i = ndim - 1; i >= 0; --i) {
    const std::uint8_t how = input.take<std::uint8_t>();
    const std::int64_t length = how % 16 == 15 ? 0 : 1 + how % 16 % (most_elements / count);
    std::int64_t step = how & 16 ? 2 * stride : stride;
    if ((how & 96) == 96) step = 0;
    if (how & 128) step = -step;
    layout.shape()[i] = length;
    layout.strides()[i] = step;
    if (step < 0 && length > 0) first -= step * (length - 1);
    if (step != 0) stride = std::abs(step) * std::max<std::int64_t>(length, 1);
    if (stride > 1 << 16) return make_sample(input);
    if (length > 0) count *= length;
  }
  const Entry& entry = entries()[static_cast<std::size_t>(input.between(0, 2))];
  const std::int64_t shape[] = {stride};
  const Layout compact = read_layout(1, shape, Order::c, dtype.itemsize());
  const std::int64_t where = input.between(0, 4);
  Tensor block = where == 3 ? make_host_tensor(dtype, compact)
                            : make_tensor(entry, static_cast<UsmKind>(where % 3), dtype, compact,
                                          where == 4 ? entry.queue() : Queue());
  for (std::size_t i = 0; i < block.nbytes(); ++i) {
    block.data[i] = static_cast<std::byte>(i * 151 >> 3);
  }
  if (input.flip() && block.host_accessible() && !block.on_host) block = as_host_view(block);
  Tensor view = make_view(block, first, std::move(layout));
  view.readonly = input.flip();
  return view;
}

bool inside(const Tensor& tensor) {
  Extent extent{};
  if (!find_extent(tensor.layout, tensor.dtype->itemsize(), &extent)) return false;
  const std::byte* const begin = tensor.memory->data;
  return tensor.size() == 0 || (tensor.data + extent.begin >= begin &&
                                tensor.data + extent.end <= begin + tensor.memory->nbytes);
}

bool same(const Tensor& a, const Tensor& b) {
  const int ndim = a.layout.ndim();
  if (ndim != b.layout.ndim() || a.dtype != b.dtype || a.readonly != b.readonly) return false;
  for (int i = 0; i < ndim; ++i) {
    if (a.layout.shape()[i] != b.layout.shape()[i]) return false;
    if (a.layout.strides()[i] != b.layout.strides()[i]) return false;
  }
  if (a.size() == 0) return true;
  if (a.size() > most_copied) return a.data == b.data;
  const Tensor x = copy_to_host(a), y = copy_to_host(b);
  return a.data == b.data && std::memcmp(x.data, y.data, x.nbytes()) == 0;
}

// Changes one field, or a number of shape or strides.
template <class Managed>
void alter(Input& input, Managed* managed) {
  DLTensor& dl = managed->dl_tensor;
  switch (input.between(0, 9)) {
    case 0:
      dl.data = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(dl.data) +
                                        static_cast<std::uintptr_t>(input.dimension() % 4096));
      break;
    case 1:
      dl.data = nullptr;
      break;
    case 2:
      dl.device = {input.flip() ? kDLOneAPI : kDLCPU,
                   static_cast<std::int32_t>(input.between(0, 6)) - 1};
      break;
    case 3:
      dl.ndim -= static_cast<int>(input.between(0, 3));  // fewer: the numbers are there
      break;
    case 4:
      dl.dtype = dtypes[static_cast<std::size_t>(input.between(0, 22))].dl();
      break;
    case 5:
      if (dl.ndim > 0 && dl.shape) dl.shape[input.between(0, dl.ndim - 1)] = input.dimension();
      break;
    case 6:
      if (dl.ndim > 0 && dl.strides) dl.strides[input.between(0, dl.ndim - 1)] = input.dimension();
      break;
    case 7:
      dl.byte_offset = static_cast<std::uint64_t>(input.dimension());
      break;
    case 8:
      (input.flip() ? dl.strides : dl.shape) = nullptr;
      break;
    default:
      if constexpr (std::is_same_v<Managed, DLManagedTensorVersioned>) {
        managed->flags = input.take<std::uint64_t>();
        managed->version = {static_cast<std::uint32_t>(input.between(0, 3)), 0};
      }
  }
}

// The accesses of a consumer to the memory.
void use(const Tensor& tensor) {
  REQUIRE(inside(tensor));
  const std::int64_t shape[] = {tensor.size()};
  if (tensor.size() > most_copied) return;
  const Tensor host = copy_to_host(tensor);
  Layout flat = read_layout(1, shape, Order::c, 1);
  if (reshape_layout(tensor.layout, &flat)) {
    REQUIRE(inside(make_view(tensor, 0, flat)));
  }
  if (tensor.on_host) {
    UsmKind kind;
    if (const Entry* entry = find_owner(tensor.data, &kind)) {
      const Tensor usm = relabel(tensor, *entry, kind);
      REQUIRE(usm.readonly == tensor.readonly && inside(usm));
    }
  } else if (tensor.host_accessible()) {
    REQUIRE(as_host_view(tensor).data == tensor.data);
  }
  if (!tensor.readonly && !may_share_elements(tensor.layout)) {
    copy_elements(tensor, host);
  } else {
    try {
      copy_elements(tensor, host);
      REQUIRE(!"a tensor that is not a target was written to");
    } catch (const Error&) {
    }
  }
}

template <class Managed>
void fuzz(Input& input) {
  const Tensor tensor = make_sample(input);
  const DLDevice label = tensor.dl_device();
  const bool null_data = input.flip();
  Managed* managed;
  try {
    managed = export_managed<Managed>(tensor, {label, input.flip(), null_data});
  } catch (const Error& error) {
    REQUIRE(tensor.readonly && error.kind() == Error::Kind::buffer);
    return;
  }
  REQUIRE(live_exports() == 1);
  REQUIRE(managed->dl_tensor.byte_offset == 0 && managed->deleter);
  REQUIRE(!null_data || tensor.size() != 0 || !managed->dl_tensor.data);
  const int changes = static_cast<int>(input.between(0, 7)) % 4;
  for (int i = 0; i < changes; ++i) alter(input, managed);
  ImportOptions options;
  // As from a third party, only where the memory can be found again by asking the runtime.
  const bool known = input.between(0, 3) || changes || !tensor.memory->entry;
  static void (*deleter)(Managed*);
  deleter = managed->deleter;
  if (!known) managed->deleter = [](Managed* self) { deleter(self); };
  options.find_usm = input.flip();
  if (options.find_usm && has_usm(default_entry(), UsmKind::system))
    options.host_reader = &default_entry();
  if (input.flip()) options.expected = &label;
  std::optional<Tensor> imported;
  try {
    imported = import_managed(managed, options).tensor;
  } catch (const Error& error) {
    // A view of another context's memory goes by its entry's own id, which the label is not.
    REQUIRE(changes != 0 || !known || label.device_id != tensor.memory->entry->id);
    REQUIRE(error.kind() == Error::Kind::buffer);
    return;
  }
  REQUIRE(changes != 0 || same(*imported, tensor));
  try {
    use(*imported);
    // And once more, as what it has become.
    if (!is_where_announced(*imported)) return;
    auto* again = export_managed<DLManagedTensorVersioned>(*imported, {imported->dl_device()});
    REQUIRE(same(import_managed(again, {}).tensor, *imported));
  } catch (const Error& error) {
    // An empty array may have lengths that a copy, or a next consumer, has no room for.
    REQUIRE(changes != 0 && imported->size() == 0 && error.kind() == Error::Kind::value);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t nbytes) {
  entries();
  const long live = live_allocations();
  Input input(data, nbytes);
  if (input.flip()) {
    fuzz<DLManagedTensor>(input);
  } else {
    fuzz<DLManagedTensorVersioned>(input);
  }
  // A block that was handed out goes when its queues were seen idle.
  while (deferred_frees() > 0) flush_deferred_frees(std::chrono::milliseconds(100));
  REQUIRE(live_exports() == 0 && live_allocations() == live);
  return 0;
}
