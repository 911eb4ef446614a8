// SPDX-License-Identifier: Apache-2.0
#include "rules/facts.hpp"

#include <cstddef>

#include "runtime/devices/device_table.hpp"

namespace sycl_ext {

namespace {

// Numbers of a few bits each, one after the other.
class Packed {
 public:
  void add(std::uint64_t value, unsigned bits) noexcept {
    all_ |= value << used_;
    used_ += bits;
  }
  std::uint64_t all() const noexcept { return all_; }

 private:
  std::uint64_t all_ = 0;
  unsigned used_ = 0;
};

}  // namespace

MemoryFacts memory_facts(const Tensor& tensor) noexcept {
  const Entry* const entry = tensor.memory->entry;
  MemoryFacts facts;
  if (entry) {
    facts.entry = entry->id;
    facts.root = entry->root_id;
    facts.default_context = entry->default_context;
  }
  facts.kind = tensor.memory->kind;
  facts.on_host = tensor.on_host;
  facts.host_reachable = tensor.host_accessible();
  facts.readonly = tensor.readonly;
  facts.reversed = has_negative_stride(tensor.layout);
  return facts;
}

ArrayFacts array_facts(const Tensor& tensor) noexcept {
  ArrayFacts facts{memory_facts(tensor)};
  facts.c_contiguous = is_contiguous(tensor.layout, Order::c);
  facts.f_contiguous = is_contiguous(tensor.layout, Order::f);
  facts.empty = tensor.size() == 0;
  facts.own_queue = static_cast<bool>(tensor.memory->own_queue);
  facts.dtype = tensor.dtype;
  facts.ndim = static_cast<int>(tensor.layout.ndim());
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.data);
  facts.alignment = 1u << __builtin_ctzll(address | ArrayFacts::max_alignment);
  return facts;
}

std::uint64_t key_of(const ArrayFacts& facts) noexcept {
  static_assert(usm_kind_count <= 1 << 2 && dtypes.size() <= 1 << 6 && max_ndim < 1 << 7 &&
                most_entries < 1 << 17 && ArrayFacts::max_alignment < 1 << 15);
  // All are named, so that a new one does not compile until the key has it.  The root device and
  // its default context follow from the entry.
  [[maybe_unused]] const auto& [entry, root, kind, default_context, on_host, host_reachable,
                                readonly, reversed] = static_cast<const MemoryFacts&>(facts);
  Packed packed;
  packed.add(static_cast<std::uint64_t>(entry + 1), 17);
  packed.add(static_cast<std::uint64_t>(kind), 2);
  packed.add(static_cast<std::uint64_t>(facts.dtype - dtypes.data()), 6);
  packed.add(static_cast<std::uint64_t>(facts.ndim), 7);
  packed.add(static_cast<std::uint64_t>(__builtin_ctz(facts.alignment)), 4);
  for (const bool fact : {on_host, host_reachable, readonly, reversed, facts.c_contiguous,
                          facts.f_contiguous, facts.empty, facts.own_queue}) {
    packed.add(fact, 1);
  }
  return packed.all();
}

}  // namespace sycl_ext
