// SPDX-License-Identifier: Apache-2.0
#include "python/routes.hpp"

#include <array>

#include "runtime/devices/device_table.hpp"

namespace sycl_ext {

namespace {

// A bit for each of FACTS in rules.py, in their order.
enum Fact : unsigned {
  on_host = 1 << 0,
  has_entry = 1 << 1,
  is_system = 1 << 2,
  default_context = 1 << 3,
  host_reachable = 1 << 4,
  readonly = 1 << 5,
  negative_stride = 1 << 6,
  versioned = 1 << 7,
  any_strides = 1 << 8,
  system_usm = 1 << 9,
};
constexpr std::size_t sets_of_facts = 1 << 10;

unsigned when(bool is_true, Fact fact) noexcept { return is_true ? fact : 0u; }

Route decide(unsigned facts, Wanted wanted, PyObject* copy) {
  // Route + 1; 0: not asked for yet.  Under the GIL.
  using Routes = std::array<std::uint8_t, sets_of_facts>;
  static std::array<std::array<Routes, 3>, 3> known{};
  std::uint8_t& route = known[static_cast<std::size_t>(wanted)][copy_index(copy)][facts];
  if (route == 0) {
    const PyRef answer(
        PyObject_CallFunction(hooks.decide, "IiO", facts, static_cast<int>(wanted), copy));
    const long decision = answer ? PyLong_AsLong(answer.get()) : -1;
    if (decision < 0) throw PythonError();
    route = static_cast<std::uint8_t>(decision + 1);
  }
  return static_cast<Route>(route - 1);
}

}  // namespace

Route route_of(const Tensor& tensor, const RouteRequest& request) {
  const Entry* const entry = tensor.memory->entry;
  const bool to_host =
      request.wanted == Wanted::host || (request.wanted == Wanted::announced && tensor.on_host);
  const unsigned facts =
      when(tensor.on_host, Fact::on_host) | when(entry, Fact::has_entry) |
      when(tensor.memory->kind == UsmKind::system, Fact::is_system) |
      when(entry && entry->default_context, Fact::default_context) |
      when(tensor.host_accessible(), Fact::host_reachable) | when(tensor.readonly, Fact::readonly) |
      when(to_host && has_negative_stride(tensor.layout), Fact::negative_stride) |
      when(request.versioned, Fact::versioned) | when(request.any_strides, Fact::any_strides);
  return decide(facts, request.wanted, request.copy);
}

const Entry* reader_of_host_memory() {
  const Entry& entry = default_entry();
  const unsigned facts = Fact::on_host | Fact::is_system | Fact::host_reachable | Fact::versioned |
                         when(has_usm(entry, UsmKind::system), Fact::system_usm);
  return decide(facts, Wanted::own_entry, Py_None) == Route::view ? &entry : nullptr;
}

}  // namespace sycl_ext
