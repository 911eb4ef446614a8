// SPDX-License-Identifier: Apache-2.0
#include "python/bind_dlpack.hpp"

#include <optional>
#include <utility>

#include "python/capsule.hpp"
#include "python/deleters.hpp"
#include "python/exchange_api.hpp"
#include "python/exchange_api_import.hpp"
#include "python/imports.hpp"

namespace sycl_ext {

namespace {

// An instance, and whether its memory is a copy.
using Wrapped = std::pair<py::object, bool>;
Wrapped wrapped(Imported&& imported) {
  return {own(wrap_tensor(std::move(imported.tensor))), imported.copied};
}

}  // namespace

void bind_dlpack(py::module_& m) {
  m.attr("DLPACK_VERSION") = py::make_tuple(dlpack_version.major, dlpack_version.minor);
  m.def("is_capsule", [](const py::object& x) { return PyCapsule_CheckExact(x.ptr()) != 0; });
  // The name says what a capsule contains; a consumer renames a capsule that it takes over.
  m.def("capsule_name", [](const py::object& capsule) {
    const char* const name = PyCapsule_GetName(capsule.ptr());
    if (!name && PyErr_Occurred()) throw py::error_already_set();
    return std::string(name ? name : "");
  });
  m.def("live_exports", &live_exports);
  py::class_<ExportMark, std::shared_ptr<ExportMark>>(m, "ExportMark")
      .def(py::init<>())
      .def_property_readonly("has_ended",
                             [](const ExportMark& mark) { return mark.has_ended.load(); });
  m.def(
      "make_capsule",
      [](const Tensor& tensor, bool versioned, std::pair<int, int> device, bool copied,
         bool null_data, const std::optional<std::shared_ptr<ExportMark>>& mark,
         const std::optional<Queue>& queue) {
        return own(make_capsule(tensor, versioned,
                                {read_device(device), copied, null_data, queue ? &*queue : nullptr,
                                 mark.value_or(nullptr)}));
      },
      py::arg("tensor"), py::pos_only(), py::kw_only(), py::arg("versioned"), py::arg("device"),
      py::arg("copied") = false, py::arg("null_data") = true, py::arg("mark") = std::nullopt,
      py::arg("queue") = std::nullopt);
  m.def("consume_capsule",
        [](const py::object& capsule) { return wrapped(consume_capsule(capsule.ptr())); });
  m.def(
      "import_capsule",
      [](const py::object& x, const py::object& capsule, const std::pair<int, int>& device,
         bool never_copy, bool readonly, const std::optional<Queue>& queue,
         const py::object& base) {
        const DLDevice expected = read_device(device);
        CapsuleOptions options;
        options.content.expected = &expected;
        options.content.queue = queue ? &*queue : nullptr;
        options.never_copy = never_copy;
        options.readonly = readonly;
        options.base = base.ptr();
        return own(import_capsule(x.ptr(), capsule.ptr(), options).release());
      },
      py::arg("x"), py::arg("capsule"), py::arg("device"), py::pos_only(),
      py::arg("never_copy") = false, py::arg("readonly") = false, py::arg("queue") = std::nullopt,
      py::arg("base") = py::none());
  m.def("import_through_table", [](const py::object& x) -> std::optional<Wrapped> {
    std::optional<Imported> imported =
        import_through_api(x.ptr(), producer_class(Py_TYPE(x.ptr())));
    if (!imported) return std::nullopt;
    return wrapped(*std::move(imported));
  });
  m.def("facts_of_class", [](const py::type& cls) {
    return producer_class(reinterpret_cast<PyTypeObject*>(cls.ptr())).facts;
  });
  m.def(
      "capsule_from_pointer",
      [](std::uintptr_t managed, bool versioned) {
        return own(capsule_from_pointer(reinterpret_cast<void*>(managed), versioned));
      },
      py::arg("address"), py::pos_only(), py::kw_only(), py::arg("versioned"));
}

}  // namespace sycl_ext
