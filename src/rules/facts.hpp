// SPDX-License-Identifier: Apache-2.0
// The facts of an array that a decision of the exchange may depend on.  Each stands here once: the
// rules read them, the decisions of `exchange` are kept by them, and Python sees them as
// `_core.ArrayFacts`.
#pragma once

#include <cstdint>

#include "tensor/tensor.hpp"

namespace sycl_ext {

// What decides on the route (relation.hpp).
struct MemoryFacts {
  static constexpr int none = -1;
  int entry = none;  // the entry that the memory is bound to; none: plain host memory
  int root = none;   // the root device of that entry
  UsmKind kind = UsmKind::system;
  bool default_context = false;  // the entry is bound to the default context of its root device
  bool on_host = false;          // it is offered as host memory
  bool host_reachable = false;   // the host may read it
  bool readonly = false;
  bool reversed = false;  // a stride is negative
};

// What the limits of a library may depend on as well.
struct ArrayFacts : MemoryFacts {
  // The largest alignment that is distinguished.
  static constexpr unsigned max_alignment = 64;

  bool c_contiguous = true, f_contiguous = true;
  bool empty = false;      // it has no elements
  bool own_queue = false;  // it has a queue other than that of its device
  const DType* dtype = dtypes.data();
  int ndim = 1;
  unsigned alignment = max_alignment;  // the power of two that divides its address
};

MemoryFacts memory_facts(const Tensor& tensor) noexcept;  // never waits: called with the GIL
ArrayFacts array_facts(const Tensor& tensor) noexcept;

// A number for each set of facts.  It leaves the three highest bits free.
std::uint64_t key_of(const ArrayFacts& facts) noexcept;

}  // namespace sycl_ext
