// SPDX-License-Identifier: Apache-2.0
// A C++ extension of nanobind that makes arrays and takes arrays.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace nb = nanobind;

using Source = nb::ndarray<nb::ro, nb::numpy, nb::c_contig, nb::device::cpu>;

template <class Array>
Array make(const Source& source) {
  std::vector<std::size_t> shape;
  for (std::size_t axis = 0; axis < source.ndim(); ++axis) shape.push_back(source.shape(axis));
  void* copy = std::aligned_alloc(256, (source.nbytes() / 256 + 1) * 256);
  std::memcpy(copy, source.data(), source.nbytes());
  nb::capsule owner(copy, [](void* data) noexcept { std::free(data); });
  return Array(copy, shape.size(), shape.data(), owner, nullptr, source.dtype());
}

using Made = nb::ndarray<nb::array_api>;
using MadeReadOnly = nb::ndarray<nb::ro, nb::array_api>;

// An array of somebody else, kept.
struct Taken {
  nb::ndarray<> array;

  nb::object host(nb::handle self) const {
    if (array.device_type() != nb::device::cpu::value) throw nb::type_error("not on the host");
    std::vector<std::size_t> shape;
    std::vector<int64_t> strides;
    for (std::size_t axis = 0; axis < array.ndim(); ++axis) {
      shape.push_back(array.shape(axis));
      strides.push_back(array.stride(axis));
    }
    nb::ndarray<nb::numpy> view(array.data(), shape.size(), shape.data(), self, strides.data(),
                                array.dtype());
    return nb::cast(view);
  }

  void fill(float value) const {
    for (std::size_t i = 0; i < array.size(); ++i) static_cast<float*>(array.data())[i] = value;
  }
};

NB_MODULE(dlpack_conformance_nanobind, module) {
  nb::class_<Taken>(module, "Taken")
      .def("host", [](nb::handle self) { return nb::cast<Taken&>(self).host(self); })
      .def("fill", &Taken::fill)
      .def("__dlpack_device__", [](const Taken& taken) {
        return nb::make_tuple(taken.array.device_type(), taken.array.device_id());
      });
  module.def("take", [](nb::ndarray<> array) { return Taken{array}; });
  module.def("make", [](Source source) { return make<Made>(source); });
  module.def("make_readonly", [](Source source) { return make<MadeReadOnly>(source); });
}
