// SPDX-License-Identifier: Apache-2.0
#include "python/routes.hpp"

#include <array>

#include "runtime/devices/device_table.hpp"

namespace sycl_ext {

namespace {

// `facts`: a bit for each of FACTS in rules.py, in their order.
Route decide(unsigned facts, Wanted wanted, PyObject* copy) {
  // Route + 1; 0: not asked for yet.  Under the GIL.
  static std::array<std::uint8_t, std::size_t{9} << 10> known{};
  const unsigned copies = copy == Py_None ? 0 : copy == Py_True ? 1 : 2;
  std::uint8_t& route = known[(3 * static_cast<unsigned>(wanted) + copies) << 10 | facts];
  if (route == 0) {
    const PyRef answer(
        PyObject_CallFunction(hooks.decide, "IiO", facts, static_cast<int>(wanted), copy));
    const long found = answer ? PyLong_AsLong(answer.get()) : -1;
    if (found < 0) throw PythonError();
    route = static_cast<std::uint8_t>(found + 1);
  }
  return static_cast<Route>(route - 1);
}

}  // namespace

Route route_of(const Tensor& tensor, const RouteRequest& request) {
  const Entry* const entry = tensor.memory->entry;
  const bool to_host =
      request.wanted == Wanted::host || (request.wanted == Wanted::announced && tensor.on_host);
  const unsigned facts =
      tensor.on_host | (entry != nullptr) << 1 | (tensor.memory->kind == UsmKind::system) << 2 |
      (entry && entry->default_context) << 3 | tensor.host_accessible() << 4 |
      tensor.readonly << 5 | (to_host && has_negative_stride(tensor.layout)) << 6 |
      request.versioned << 7 | request.any_strides << 8;
  return decide(facts, request.wanted, request.copy);
}

const Entry* reader_of_host_memory() {
  const Entry& entry = default_entry();
  // on_host, is_system, host_reachable, versioned, and system_usm.
  const unsigned facts = 1 | 1 << 2 | 1 << 4 | 1 << 7 | has_usm(entry, UsmKind::system) << 9;
  return decide(facts, Wanted::own_entry, Py_None) == Route::view ? &entry : nullptr;
}

}  // namespace sycl_ext
