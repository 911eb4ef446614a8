// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor.hpp"

#include <utility>

#include "runtime/memory/usm_pointers.hpp"

namespace sycl_ext {

namespace {

Tensor view_of(Memory&& memory, std::byte* data, const DType& dtype, Layout&& layout,
               bool readonly) {
  if (!memory->data) data = nullptr;
  const bool on_host = !memory->entry;
  return {std::move(memory), data, &dtype, std::move(layout), readonly, on_host};
}

Tensor over(Memory&& memory, const DType& dtype, const Layout& layout) {
  return view_of(std::move(memory), memory->data, dtype, Layout(layout), /*readonly=*/false);
}

// Requires that a whole host array is the USM in which it begins, because one command copies no
// more than that.
void require_usm(const std::byte* first, std::size_t nbytes, const Entry& entry, UsmKind* kind) {
  try {
    locate_usm("the array", first, nbytes, entry, kind);
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::buffer) throw;
    fail(Error::Kind::buffer, error.what(), "; copy it on the host first, with numpy.array(x)");
  }
}

}  // namespace

Tensor make_tensor(const Entry& entry, UsmKind kind, const DType& dtype, const Layout& layout,
                   Queue queue, bool dedicated) {
  return over(allocate(entry, kind, bytes_of(dtype, layout), std::move(queue), dedicated), dtype,
              layout);
}

Tensor make_host_tensor(const DType& dtype, const Layout& layout) {
  return over(allocate_host(bytes_of(dtype, layout)), dtype, layout);
}

ByteRange byte_range(std::byte* data, const Layout& layout, std::size_t itemsize,
                     Error::Kind kind) {
  Extent extent{};
  if (!find_extent(layout, itemsize, &extent)) {
    fail(kind, "the extent of the array's shape and strides overflows the address space");
  }
  if (extent.nbytes() == 0) return {nullptr, 0};
  if (!data) fail(kind, "the array is not empty, but its data pointer is NULL");
  const auto base = reinterpret_cast<std::uintptr_t>(data);
  std::uintptr_t begin, end;
  if (__builtin_add_overflow(base, extent.begin, &begin) ||
      __builtin_add_overflow(base, extent.end, &end) || begin == 0 || begin >= end) {
    fail(kind, "the array at ", static_cast<void*>(data), " exceeds the address space (bytes ",
         extent.begin, " to ", extent.end, ")");
  }
  return {reinterpret_cast<std::byte*>(begin), extent.nbytes()};
}

Tensor borrow_usm(std::byte* data, const DType& dtype, Layout&& layout, const Entry& entry,
                  bool readonly, Owner owner, Queue queue) {
  const ByteRange range = byte_range(data, layout, dtype.itemsize());
  UsmKind kind;
  // The pointer of an empty array still shows the kind of its memory.
  const std::byte* const first = range.nbytes == 0 ? data : range.begin;
  const Entry& home = locate_usm("the array", first, range.nbytes, entry, &kind);
  Memory memory =
      borrow(range.begin, range.nbytes, kind, &home, std::move(queue), std::move(owner));
  return view_of(std::move(memory), data, dtype, std::move(layout), readonly);
}

Tensor borrow_host(std::byte* data, const DType& dtype, Layout&& layout, bool readonly, Owner owner,
                   bool find_usm, const Entry* reader) {
  const ByteRange range = byte_range(data, layout, dtype.itemsize());
  UsmKind kind = UsmKind::system;
  const Entry* entry = find_usm && range.begin ? find_owner(range.begin, &kind) : nullptr;
  if (entry) {
    try {
      require_usm(range.begin, range.nbytes, *entry, &kind);
      // For host USM, the driver names the card that it serves, and not the tile.
      if (const Entry* const ours = expose_block_at(range.begin)) entry = ours;
    } catch (const Error&) {  // not all of it is USM
      if (!reader) throw;
      kind = UsmKind::system;
      entry = nullptr;
    }
  }
  if (!entry) entry = reader;
  Memory memory = borrow(range.begin, range.nbytes, kind, entry, {}, std::move(owner));
  return view_of(std::move(memory), data, dtype, std::move(layout), readonly);
}

bool require_inside(Error::Kind kind, const ByteRange& block, std::byte* data, const Layout& layout,
                    std::size_t itemsize) {
  const ByteRange range = byte_range(data, layout, itemsize, kind);
  if (!range.begin) return false;
  const std::int64_t first = range.begin - block.begin;
  if (first < 0 || range.nbytes > block.nbytes ||
      static_cast<std::size_t>(first) > block.nbytes - range.nbytes) {
    fail(kind, "the view's ", range.nbytes, " bytes, which begin at byte ", first,
         ", exceed the block of ", block.nbytes, " bytes");
  }
  return true;
}

Tensor make_view(const Tensor& base, std::int64_t offset, Layout layout) {
  const std::size_t itemsize = base.dtype->itemsize();
  std::int64_t byte_offset;
  if (__builtin_mul_overflow(offset, static_cast<std::int64_t>(itemsize), &byte_offset)) {
    fail(Error::Kind::value, "offset ", offset, " overflows the address space");
  }
  Tensor view{base.memory, base.data, base.dtype, std::move(layout), base.readonly, base.on_host};
  // Wraps around for an offset that require_inside refuses.
  view.data = reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(base.data) +
                                           static_cast<std::uintptr_t>(byte_offset));
  if (!require_inside(Error::Kind::value, view.memory, view.data, view.layout, itemsize)) {
    view.data = base.data;
  }
  return view;
}

// Goes from the last axis to the first.  Source axes that continue each other form a run, and the
// axes of the target divide that run.
bool reshape_layout(const Layout& from, Layout* to) {
  if (element_count(from) == 0) return true;
  std::int64_t left = 1, step = 1;  // of the run: elements not divided yet, and their stride
  for (int axis = to->ndim() - 1, next = from.ndim() - 1; axis >= 0; --axis) {
    const std::int64_t length = to->shape()[axis];
    while (left % length != 0) {
      const std::int64_t count = from.shape()[next], stride = from.strides()[next];
      --next;
      if (count == 1) continue;  // its stride carries no information
      std::int64_t continued;
      if (left == 1) {
        step = stride;
      } else if (__builtin_mul_overflow(step, left, &continued) || stride != continued) {
        return false;
      }
      left *= count;
    }
    to->strides()[axis] = step;
    left /= length;
    (void)__builtin_mul_overflow(step, length, &step);  // only where nothing is left
  }
  return true;
}

void require_host_accessible(const Tensor& tensor) {
  if (tensor.host_accessible()) return;
  fail(Error::Kind::buffer, "the host cannot access '", usm_kind_name(tensor.memory->kind),
       "' USM of device ", tensor.memory->entry->id, " ('", tensor.memory->entry->name,
       "'); copy it (host_view, to_numpy) or allocate with usm_type='shared'");
}

Tensor as_host_view(const Tensor& tensor) {
  require_host_accessible(tensor);
  Tensor view = tensor;
  view.on_host = true;
  return view;
}

Tensor as_usm(Tensor tensor) {
  tensor.on_host = false;
  return tensor;
}

Tensor relabel(Tensor tensor, const Entry& entry, UsmKind kind, Queue queue) {
  if (tensor.memory->entry) return as_usm(std::move(tensor));
  if (kind != UsmKind::system) {
    require_usm(tensor.memory->data, tensor.memory->nbytes, entry, &kind);
    expose_block_at(tensor.memory->data);
  }
  tensor.memory = borrow(tensor.memory->data, tensor.memory->nbytes, kind, &entry, std::move(queue),
                         keep_memory(tensor.memory));
  return as_usm(std::move(tensor));
}

Tensor on_queue(Tensor tensor, Queue queue, Owner owner) {
  const Allocation& memory = *tensor.memory;
  tensor.memory = borrow(memory.data, memory.nbytes, memory.kind, memory.entry, std::move(queue),
                         std::move(owner));
  return tensor;
}

}  // namespace sycl_ext
