// SPDX-License-Identifier: Apache-2.0
// A typed, strided view of a Memory: the one immutable value that all protocols exchange.
#pragma once

#include "base/dtype.hpp"
#include "base/error.hpp"
#include "base/layout.hpp"
#include "runtime/memory/usm.hpp"

namespace sycl_ext {

inline std::size_t bytes_of(const DType& dtype, const Layout& layout) noexcept {
  return static_cast<std::size_t>(element_count(layout)) * dtype.itemsize();
}

struct Tensor {
  Memory memory;
  std::byte* data;  // of the first element (not the lowest address when a stride is negative)
  const DType* dtype;
  Layout layout;
  bool readonly;
  // Exported as (kDLCPU, 0).  Only for memory that the host can reach.
  bool on_host;

  std::int64_t size() const noexcept { return element_count(layout); }
  std::size_t nbytes() const noexcept { return bytes_of(*dtype, layout); }
  bool host_accessible() const noexcept {
    return sycl_ext::host_accessible(memory->kind, memory->entry);
  }
  // The result of __dlpack_device__.
  DLDevice dl_device() const noexcept {
    if (on_host) return {kDLCPU, 0};
    return {kDLOneAPI, memory->entry->root_id};
  }
};

// A new compact tensor.
Tensor make_tensor(const Entry& entry, UsmKind kind, const DType& dtype, const Layout& layout,
                   Queue queue = {}, bool dedicated = false);
Tensor make_host_tensor(const DType& dtype, const Layout& layout);

// A view of memory that `owner` keeps alive; `data` is the first element.
// borrow_usm: Error(buffer) unless the whole extent is USM of one kind, bound to the entry's
// context.
Tensor borrow_usm(std::byte* data, const DType& dtype, Layout&& layout, const Entry& entry,
                  bool readonly, Owner owner, Queue queue = {});
// borrow_host: host memory.  `find_usm`: for a request by a device.  USM of a context of the table
// is then taken as that USM, and other memory as "system" USM of `reader`, if there is a reader.
Tensor borrow_host(std::byte* data, const DType& dtype, Layout&& layout, bool readonly, Owner owner,
                   bool find_usm = false, const Entry* reader = nullptr);

// A view of the same memory.  `offset` counts elements from the first element of `base`.
// Error(value) unless every element of the new view lies inside the memory.
Tensor make_view(const Tensor& base, std::int64_t offset, Layout layout);

// Sets the strides of `to`, a compact layout of as many elements, to those of the same elements.
// False: no strides can do it, so a copy is needed.
bool reshape_layout(const Layout& from, Layout* to);

// Error(buffer), with the way out, unless the host can reach the memory.
void require_host_accessible(const Tensor& tensor);

// The tensor as host memory: relabelled when the host can reach it (Error(buffer) otherwise).
Tensor as_host_view(const Tensor& tensor);

// The bytes that a strided array occupies.  Error(kind) when they leave the address space.
struct ByteRange {
  std::byte* begin;  // nullptr: no bytes at all
  std::size_t nbytes;
};
ByteRange byte_range(std::byte* data, const Layout& layout, std::size_t itemsize,
                     Error::Kind kind = Error::Kind::buffer);
inline ByteRange byte_range(const Tensor& tensor) {
  return byte_range(tensor.data, tensor.layout, tensor.dtype->itemsize());
}

// Error(kind) unless the extent of `layout` around `data` lies inside the block.  Returns whether
// there are elements; without elements, `data` may have any value.
bool require_inside(Error::Kind kind, const ByteRange& block, std::byte* data, const Layout& layout,
                    std::size_t itemsize);
inline bool require_inside(Error::Kind kind, const Memory& memory, std::byte* data,
                           const Layout& layout, std::size_t itemsize) {
  return require_inside(kind, ByteRange{memory->data, memory->nbytes}, data, layout, itemsize);
}

// A host view of USM as that USM: the same Memory, and so the same queue to wait for.  Only for
// memory that has an entry.
Tensor as_usm(Tensor tensor);

// The tensor as memory of kind `kind` on `entry`, without touching the data.  The memory is host
// memory that turns out to be USM (Error(buffer) unless all of it is), or that a device with system
// USM reads.  Memory that has an entry keeps its entry, kind and queue.  An empty queue stands for
// the queue of the entry.
Tensor relabel(Tensor tensor, const Entry& entry, UsmKind kind, Queue queue = {});

// The same USM with `queue` for its work, a queue of the entry's device and context.  `owner` keeps
// the memory of the tensor, and does not know the queue of that memory.
Tensor on_queue(Tensor tensor, Queue queue, Owner owner);

}  // namespace sycl_ext
