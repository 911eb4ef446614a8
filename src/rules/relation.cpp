// SPDX-License-Identifier: Apache-2.0
#include "rules/relation.hpp"

namespace sycl_ext {

namespace {

Relation to_the_host(const MemoryFacts& facts, const Request& request) noexcept {
  if (!facts.host_reachable) return Relation::unreachable;
  if (facts.reversed && !request.any_strides) return Relation::reversed;
  return facts.readonly && !request.versioned ? Relation::untold_on_host : Relation::reachable;
}

// Memory that would be viewed where it is, if it is what the request names.
Relation in_place(const MemoryFacts& facts, const Request& request) noexcept {
  if (request.kind.value_or(facts.kind) != facts.kind) return Relation::other_usm_type;
  if (!request.right_kind) return Relation::other_kind;
  return facts.readonly && !request.versioned ? Relation::untold : Relation::same;
}

Relation from_host_memory(const MemoryFacts& facts, const Request& request) noexcept {
  if (request.system_usm && request.kind.value_or(facts.kind) == facts.kind) {
    return Relation::system_usm;
  }
  return request.has_usm ? Relation::host_only : Relation::no_usm;
}

}  // namespace

Relation relation(const MemoryFacts& facts, const Request& request) noexcept {
  if (request.device.device_type == kDLCPU) return to_the_host(facts, request);
  if (!request.known) return Relation::unknown;
  if (facts.entry == MemoryFacts::none) return from_host_memory(facts, request);
  if (!request.has_usm) return Relation::no_usm;
  const int wanted = request.device.device_id;
  const bool is_own_entry = wanted == facts.entry;
  if (wanted == facts.root && !(request.ours && is_own_entry)) {
    // A third party expects USM of the default context under a root id, also of a host view.
    if (facts.default_context && facts.kind != UsmKind::system) {
      const bool is_refused = request.root_only && !is_own_entry;
      return is_refused ? Relation::sub_device : in_place(facts, request);
    }
    if (!request.direct) return Relation::indirect;
    return facts.kind == UsmKind::system ? Relation::host_only : Relation::other_context;
  }
  if (is_own_entry) return in_place(facts, request);
  return request.direct ? Relation::direct : Relation::indirect;
}

}  // namespace sycl_ext
