// SPDX-License-Identifier: Apache-2.0
// Functions with nb::ndarray arguments, as in the C++ extension module of a user.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>

namespace nb = nanobind;

// The result: (address of the first element, shape, whether it may be written to, device type).
template <class Array>
nb::tuple seen(const Array& array, bool writable) {
  nb::list shape;
  for (std::size_t axis = 0; axis < array.ndim(); ++axis) shape.append(array.shape(axis));
  return nb::make_tuple(reinterpret_cast<std::uintptr_t>(array.data()), nb::tuple(shape), writable,
                        array.device_type());
}

using Any = nb::ndarray<float>;
using ReadOnly = nb::ndarray<float, nb::ro>;
using Host = nb::ndarray<float, nb::device::cpu>;

NB_MODULE(nanobind_consumer, module) {
  module.def("take_any", [](Any array) { return seen(array, true); });
  module.def("take_readonly", [](ReadOnly array) { return seen(array, false); });
  module.def("take_host", [](Host array) { return seen(array, true); });
}
