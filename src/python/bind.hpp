// SPDX-License-Identifier: Apache-2.0
// Conversions of values, shared by the bind_*.cpp files.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "python/tensor_object.hpp"

namespace py = pybind11;

namespace pybind11::detail {

// Tensors enter and leave C++ as instances of the hand-written type of tensor_object.cpp.
template <>
struct type_caster<sycl_ext::Tensor> {
  static constexpr auto name = const_name("TensorBase");
  template <typename>
  using cast_op_type = const sycl_ext::Tensor&;
  operator const sycl_ext::Tensor&() { return *value; }

  bool load(handle source, bool) {
    if (!sycl_ext::is_tensor(source.ptr())) return false;
    value = &sycl_ext::tensor_of(source.ptr());  // a tensor never changes, and the caller keeps it
    return true;
  }
  static handle cast(sycl_ext::Tensor tensor, return_value_policy, handle) {
    PyObject* object = sycl_ext::wrap_tensor(std::move(tensor));
    if (!object) throw error_already_set();
    return object;
  }
  const sycl_ext::Tensor* value = nullptr;
};

}  // namespace pybind11::detail

namespace sycl_ext {

using Dims = std::vector<std::int64_t>;

// Arguments that are constants at a call, such as a bool, are keyword-only, so that the call shows
// their names.  pybind11 needs 0.2 us for each keyword of a call.  Indexing shows it (`t[1:]`: 3.0
// instead of 2.6 us), and so do `empty`, `copy` and the slow imports (up to 0.8 us of 4 to 20). So
// `view`, `allocate`, `copy_to_entry`, `borrow` and `import_capsule` also take these arguments by
// position, for calls that pass variables.  (tests/project/test_calls.py forbids constants.)

inline Dims read_dims(const py::sequence& values) {
  try {
    return values.cast<Dims>();
  } catch (const py::cast_error&) {
    fail(Error::Kind::value, "the shape or strides ", std::string(py::str(values)),
         " do not fit in 64-bit integers");
  }
}

inline Order read_order(const std::string& order) {
  if (order == "C") return Order::c;
  if (order == "F") return Order::f;
  fail(Error::Kind::value, "order is '", order, "'; it must be 'C' or 'F'");
}

inline Layout compact(const Dims& shape, const std::string& order, std::size_t itemsize) {
  return read_layout(static_cast<int>(shape.size()), shape.data(), read_order(order), itemsize);
}

inline Layout strided(const Dims& shape, const Dims& strides, std::size_t itemsize) {
  if (shape.size() != strides.size()) {
    fail(Error::Kind::value, "shape has ", shape.size(), " entries, but strides has ",
         strides.size());
  }
  return read_layout(static_cast<int>(shape.size()), shape.data(), Order::c, itemsize,
                     strides.data());
}

inline const void* address(std::uintptr_t value) { return reinterpret_cast<const void*>(value); }

inline py::object own(PyObject* object) {
  if (!object) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(object);
}

// A new instance over the memory of another instance: a host view for a host view, otherwise a
// tensor.
inline py::object view_of(const py::object& object, Tensor view) {
  const bool is_host_view =
      view.on_host && reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) == hooks.host_view_class;
  auto* const type = is_host_view ? Py_TYPE(object.ptr()) : nullptr;
  return own(wrap_tensor(std::move(view), base_of(object.ptr()), type));
}

inline DLDevice read_device(const std::pair<int, int>& device) {
  return {static_cast<DLDeviceType>(device.first), device.second};
}

inline const void* referenced(const py::handle& capsule, const char* name) {
  if (!PyCapsule_IsValid(capsule.ptr(), name)) {
    fail(Error::Kind::type, "a '", name, "' capsule is required, not an object of type ",
         Py_TYPE(capsule.ptr())->tp_name);
  }
  return PyCapsule_GetPointer(capsule.ptr(), name);
}

// A "SyclQueueRef" capsule or a similar one.  dpctl renames a capsule that it has read, and leaves
// the object in it to this package.
inline py::object reference_capsule(Owner reference, const char* name) {
  py::capsule capsule(reference.get(), name, reference.get_deleter());
  (void)reference.release();
  return capsule;
}

}  // namespace sycl_ext
