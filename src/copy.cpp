// SPDX-License-Identifier: Apache-2.0
#include "copy.hpp"

#include <cstring>
#include <utility>

#include "error.hpp"
#include "strided.hpp"

namespace sycl_ext {

namespace {

// Staging goes through blocks of this size, so a copy of any size needs little extra memory.
constexpr std::size_t block_bytes = std::size_t{4} << 20;
// One queue command costs about as much time as moving this many bytes.
constexpr std::size_t command_bytes = std::size_t{32} << 10;

struct Addresses {
  const std::byte* begin;
  const std::byte* end;
};

Addresses addresses(const Tensor& tensor) {
  Extent extent{};
  find_extent(tensor.layout, tensor.dtype->itemsize(), &extent);
  return {tensor.data + extent.begin, tensor.data + extent.end};
}

bool overlap(const Tensor& a, const Tensor& b) {
  const Addresses x = addresses(a), y = addresses(b);
  return x.begin < y.end && y.begin < x.end;
}

CopyLoops loops_of(const Tensor& to, const Tensor& from) {
  return make_loops(to.data, to.layout, from.data, from.layout, to.dtype->itemsize());
}

// One side of a set of loops: the bytes from the lowest to the highest element.
struct Span {
  std::int64_t begin;  // relative to the pointer of that side
  std::size_t nbytes;
};

Span span_of(const CopyLoops& loops, std::int64_t CopyAxis::* side) {
  Span span{0, loops.itemsize};
  for (int i = 0; i < loops.ndim; ++i) {
    const std::int64_t reach = (loops.axes[i].count - 1) * (loops.axes[i].*side);
    if (reach < 0) span.begin += reach;
    span.nbytes += static_cast<std::size_t>(reach < 0 ? -reach : reach);
  }
  return span;
}

// The two halves of the loops, cut along the axis that reaches furthest on one side.
std::pair<CopyLoops, CopyLoops> split(const CopyLoops& loops, std::int64_t CopyAxis::* side) {
  int widest = 0;
  std::int64_t reach = -1;
  for (int i = 0; i < loops.ndim; ++i) {
    const std::int64_t candidate = std::abs((loops.axes[i].count - 1) * (loops.axes[i].*side));
    if (candidate > reach) {
      reach = candidate;
      widest = i;
    }
  }
  CopyLoops first = loops, second = loops;
  const CopyAxis& axis = loops.axes[widest];
  const std::int64_t half = axis.count / 2;
  first.axes[widest].count = half;
  second.axes[widest].count = axis.count - half;
  second.to += half * axis.to;
  second.from += half * axis.from;
  return {first, second};
}

// A block of host memory that a queue copies to and from at full speed.
struct Staging {
  explicit Staging(const Row& row)
      : memory(row.usm_host ? allocate(row, UsmKind::host, block_bytes)
                            : allocate_host(block_bytes)) {}
  Memory memory;
};

// Device -> host where the device's side is strided.  Reading the gaps between elements is
// harmless, so the span is fetched as it is, unless it is mostly gaps.
void fetch_strided(const CopyLoops& loops, const Queue& queue, const Staging& staging) {
  if (loops.contiguous()) return queue.copy(loops.to, loops.from, loops.nbytes());
  const Span span = span_of(loops, &CopyAxis::from);
  const std::size_t runs = loops.nbytes() / loops.run();
  if (span.nbytes <= block_bytes && span.nbytes / runs <= command_bytes) {
    queue.copy(staging.memory->data, loops.from + span.begin, span.nbytes);
    CopyLoops local = loops;
    local.from = staging.memory->data - span.begin;
    return copy_strided(local);
  }
  const auto halves = split(loops, &CopyAxis::from);
  fetch_strided(halves.first, queue, staging);
  fetch_strided(halves.second, queue, staging);
}

// Host -> device where the device's side is strided.  The gaps belong to somebody else, so only
// spans without gaps are written as a whole.
void store_strided(const CopyLoops& loops, const Queue& queue, const Staging& staging) {
  if (loops.contiguous()) return queue.copy(loops.to, loops.from, loops.nbytes());
  const Span span = span_of(loops, &CopyAxis::to);
  if (span.nbytes == loops.nbytes() && span.nbytes <= block_bytes) {
    CopyLoops local = loops;
    local.to = staging.memory->data - span.begin;
    copy_strided(local);
    return queue.copy(loops.to + span.begin, staging.memory->data, span.nbytes);
  }
  const auto halves = split(loops, &CopyAxis::to);
  store_strided(halves.first, queue, staging);
  store_strided(halves.second, queue, staging);
}

// Device -> device where one command cannot do it: each dense part of the target is collected in
// host memory, and then stored.
void relay(const CopyLoops& loops, const Queue& to_queue, const Queue& from_queue,
           const Staging& collected, const Staging& fetched) {
  const Span span = span_of(loops, &CopyAxis::to);
  if (span.nbytes == loops.nbytes() && span.nbytes <= block_bytes) {
    CopyLoops local = loops;
    local.to = collected.memory->data - span.begin;
    fetch_strided(local, from_queue, fetched);
    return to_queue.copy(loops.to + span.begin, collected.memory->data, span.nbytes);
  }
  const auto halves = split(loops, &CopyAxis::to);
  relay(halves.first, to_queue, from_queue, collected, fetched);
  relay(halves.second, to_queue, from_queue, collected, fetched);
}

void copy_disjoint(const Tensor& to, const Tensor& from) {
  const CopyLoops loops = loops_of(to, from);
  const bool to_host = to.host_accessible(), from_host = from.host_accessible();
  if (to_host && from_host) return copy_strided(loops);
  if (to_host) {
    const Row& row = *from.memory->row;
    if (loops.contiguous()) return row.queue().copy(loops.to, loops.from, loops.nbytes());
    return fetch_strided(loops, row.queue(), Staging(row));
  }
  const Row& row = *to.memory->row;
  if (from_host) {
    if (loops.contiguous()) return row.queue().copy(loops.to, loops.from, loops.nbytes());
    return store_strided(loops, row.queue(), Staging(row));
  }
  const Row& source = *from.memory->row;
  if (loops.contiguous() && copies_directly(source, row)) {
    return row.queue().copy(loops.to, loops.from, loops.nbytes());
  }
  relay(loops, row.queue(), source.queue(), Staging(row), Staging(source));
}

}  // namespace

void synchronize(const Tensor& tensor) {
  const Queue& queue = tensor.memory->queue;
  if (queue && queue.has_pending_work()) queue.wait();
}

void copy_elements(const Tensor& to, const Tensor& from) {
  if (to.readonly) {
    fail(Error::Kind::buffer,
         "the target of the copy is read-only; copy into a tensor that is not");
  }
  if (to.size() == 0) return;
  synchronize(from);
  synchronize(to);
  if (!overlap(to, from)) return copy_disjoint(to, from);
  if (to.data == from.data &&
      std::equal(to.layout.strides(), to.layout.strides() + to.layout.ndim(),
                 from.layout.strides())) {
    return;
  }
  copy_disjoint(to, copy_to_host(from));
}

Tensor copy_to_host(const Tensor& from, Order order) {
  Tensor to = make_host_tensor(*from.dtype, compact_layout(from.layout.ndim(), from.layout.shape(),
                                                           order, from.dtype->itemsize()));
  copy_elements(to, from);
  return to;
}

Tensor copy_to_row(const Tensor& from, const Row& row, UsmKind kind, Order order, Queue queue) {
  Tensor to = make_tensor(
      row, kind, *from.dtype,
      compact_layout(from.layout.ndim(), from.layout.shape(), order, from.dtype->itemsize()),
      std::move(queue));
  copy_elements(to, from);
  return to;
}

void fill_zero(const Tensor& compact) {
  const std::size_t nbytes = compact.nbytes();
  if (nbytes == 0) return;
  if (compact.host_accessible()) {
    std::memset(compact.data, 0, nbytes);
  } else {
    compact.memory->row->queue().fill_zero(compact.data, nbytes);
  }
}

}  // namespace sycl_ext
