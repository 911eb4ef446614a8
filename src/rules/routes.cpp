// SPDX-License-Identifier: Apache-2.0
#include "rules/routes.hpp"

#include <algorithm>

#include "runtime/devices/device_table.hpp"
#include "runtime/devices/dl_device.hpp"

namespace sycl_ext {

namespace {

constexpr DLDevice host_device{kDLCPU, 0};

DLDevice announced_by(const MemoryFacts& facts) noexcept {
  return facts.on_host || facts.root == MemoryFacts::none ? host_device
                                                          : DLDevice{kDLOneAPI, facts.root};
}

Request with_limits(DLDevice device, const Limits& limits) noexcept {
  Request request{device};
  request.ours = limits.ours;
  request.versioned = limits.versioned;
  request.root_only = limits.root_only;
  request.any_strides = limits.any_strides;
  request.kind = limits.kind;
  return request;
}

Route route(const MemoryFacts& facts, const Request& request, Copy copy) noexcept {
  const auto row = static_cast<std::size_t>(relation(facts, request));
  return rules[row][static_cast<std::size_t>(copy)];
}

bool allocates_usm(const Entry& entry) noexcept {
  return std::any_of(allocated_kinds.begin(), allocated_kinds.end(),
                     [&entry](UsmKind kind) { return has_usm(entry, kind); });
}

}  // namespace

Request request_for(const MemoryFacts& facts, std::optional<DLDevice> device,
                    const Limits& limits) {
  const DLDevice wanted = device.value_or(announced_by(facts));
  const NamedDevice named = resolve(wanted);
  if (named.is_host) return with_limits(host_device, limits);
  Request request = with_limits(wanted, limits);
  request.known = named.entry;
  if (!named.entry) return request;
  const Entry& entry = *named.entry;
  request.device = {kDLOneAPI, entry.id};
  request.right_kind = named.kind.value_or(facts.kind) == facts.kind;
  request.has_usm = allocates_usm(entry);
  request.system_usm = limits.ours && has_usm(entry, UsmKind::system);
  if (facts.kind == UsmKind::device && facts.entry != MemoryFacts::none &&
      facts.entry != entry.id) {
    request.direct = copies_directly(entry_at(facts.entry), entry);
  }
  return request;
}

Route route_of(const Tensor& tensor, Destination destination, Copy copy, const Limits& limits) {
  const MemoryFacts facts = memory_facts(tensor);
  DLDevice device = announced_by(facts);
  if (destination == Destination::host) device = host_device;
  Limits all = limits;
  if (destination == Destination::own_entry) {
    device = {kDLOneAPI, facts.entry == MemoryFacts::none ? 0 : facts.entry};
    all.ours = true;
  }
  return route(facts, with_limits(device, all), copy);
}

const Entry* reader_of_host_memory() {
  const Entry& entry = default_entry();
  MemoryFacts facts;
  facts.on_host = facts.host_reachable = true;
  Limits limits;
  limits.ours = true;
  const Request request = request_for(facts, DLDevice{kDLOneAPI, entry.id}, limits);
  return route(facts, request, Copy::if_needed) == Route::view ? &entry : nullptr;
}

}  // namespace sycl_ext
