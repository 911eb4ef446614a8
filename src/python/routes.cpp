// SPDX-License-Identifier: Apache-2.0
#include "python/routes.hpp"

#include <array>

namespace sycl_ext {

namespace {

// The facts that a decision depends on.
struct Facts {
  bool on_host, has_entry, is_system, default_context, host_accessible, readonly, reversed;
  Wanted wanted;
  PyObject* copy;
  bool versioned, any_strides, system_usm;

  // As FACTS in rules.py names them.
  unsigned bits() const noexcept {
    return on_host | has_entry << 1 | is_system << 2 | default_context << 3 | host_accessible << 4 |
           readonly << 5 | reversed << 6 | versioned << 7 | any_strides << 8 | system_usm << 9;
  }
  std::size_t number() const noexcept {
    const unsigned copies = copy == Py_None ? 0 : copy == Py_True ? 1 : 2;
    return (3 * static_cast<unsigned>(wanted) + copies) << 10 | bits();
  }

  Route ask() const {
    const PyRef answer(
        PyObject_CallFunction(hooks().decide, "IiO", bits(), static_cast<int>(wanted), copy));
    const long route = answer ? PyLong_AsLong(answer.get()) : -1;
    if (route < 0) throw PythonError();
    return static_cast<Route>(route);
  }
};

Route decide(const Facts& facts) {
  // Route + 1; 0: not asked for yet.  Under the GIL.
  static std::array<std::uint8_t, std::size_t{9} << 10> known{};
  std::uint8_t& route = known[facts.number()];
  if (route == 0) route = static_cast<std::uint8_t>(static_cast<int>(facts.ask()) + 1);
  return static_cast<Route>(route - 1);
}

}  // namespace

Route route_of(const Tensor& tensor, const RouteRequest& request) {
  const Entry* const entry = tensor.memory->entry();
  const bool to_host =
      request.wanted == Wanted::host || (request.wanted == Wanted::announced && tensor.on_host);
  return decide({tensor.on_host, entry != nullptr, tensor.memory->kind() == UsmKind::system,
                 entry && entry->default_context, tensor.host_accessible(), tensor.readonly,
                 to_host && has_negative_stride(tensor.layout), request.wanted, request.copy,
                 request.versioned, request.any_strides, false});
}

const Entry* reader_of_host_memory() {
  // Not by the initializer of a static: Python may run another thread in it, which would wait for
  // the initializer with the GIL.
  static bool is_known = false;
  static const Entry* reader = nullptr;
  if (!is_known) {
    const Entry& entry = default_entry();
    const Route route = decide({true, false, true, false, true, false, false, Wanted::own_entry,
                                Py_None, true, false, has_usm(entry, UsmKind::system)});
    reader = route == Route::view ? &entry : nullptr;
    is_known = true;
  }
  return reader;
}

}  // namespace sycl_ext
