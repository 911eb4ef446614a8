// SPDX-License-Identifier: Apache-2.0
// The route of a request for an array: its relation, looked up in the table of rules.
#pragma once

#include "rules/relation.hpp"

namespace sycl_ext {

// rules.Route, in this order.
enum class Route : std::uint8_t { view, copy, host_view, host_copy, via_host, refuse };
inline constexpr std::array route_names{"VIEW",      "COPY",     "HOST_VIEW",
                                        "HOST_COPY", "VIA_HOST", "REFUSE"};

// The argument copy=; the columns of the table.
enum class Copy : std::uint8_t { if_needed, never, always };

// The table: RULES of sycl_ext/_negotiation/rules.py, which the package passes once, when it is
// loaded.
using Rules = std::array<std::array<Route, 3>, relation_count>;
inline Rules rules;

// The limits of a request that follow from the consumer; the fields of Request with these names.
struct Limits {
  bool ours = false, versioned = true, root_only = false, any_strides = false;
  std::optional<UsmKind> kind{};
};

// A request for memory on a DLPack device; nullopt: on the device of `__dlpack_device__`.
Request request_for(const MemoryFacts& facts, std::optional<DLDevice> device, const Limits& limits);

// Where a consumer asks for an array, if it names no other place: as `__dlpack_device__` says, on
// the host, or on the entry of the memory (any device, for memory without an entry).
enum class Destination : std::uint8_t { announced, host, own_entry };

// The route to such a destination.  It is exact for views and copies to the host; the plan of
// another copy needs Python.
Route route_of(const Tensor& tensor, Destination destination, Copy copy, const Limits& limits = {});

// The entry of the default device, if that device can use host memory in place; else nullptr.
const Entry* reader_of_host_memory();

}  // namespace sycl_ext
