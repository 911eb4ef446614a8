// SPDX-License-Identifier: Apache-2.0
#include "python/producer_class.hpp"

#include <array>
#include <cstdint>
#include <utility>

#include "python/tensor_object.hpp"

namespace sycl_ext {

namespace {

PyObject* intern(const char* text) { return PyUnicode_InternFromString(text); }

constexpr long not_asked = -1;

// What was found in a class of this version.
struct Line {
  PyTypeObject* type = nullptr;  // compared, and not followed
  unsigned version = 0;
  ProducerClass found{};
  long traits = not_asked;

  bool is_of(PyTypeObject* other, unsigned version_of_other) const noexcept {
    return version_of_other != 0 && type == other && version == version_of_other;
  }
};

Line& line_of(PyTypeObject* type) noexcept {
  static std::array<Line, 64> lines;  // of the classes that were met last; under the GIL
  return lines[(reinterpret_cast<std::uintptr_t>(type) >> 6) % lines.size()];
}

// 0: it has none now.
unsigned version_of(PyTypeObject* type) noexcept {
#if PY_VERSION_HEX < 0x030C0000
  if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG)) return 0;
#endif
  return type->tp_version_tag;
}

struct Found {
  PyRef value;       // empty: no class has the name
  Py_ssize_t place;  // of the first class that has it in the order of resolution, or their number
};

// Keys that are no strings of Python's own compare themselves, and may change the class meanwhile:
// what is looked through is held.
Found find(PyTypeObject* type, PyObject* name) {
  const PyRef classes(Py_XNewRef(type->tp_mro));
  const Py_ssize_t count = classes ? PyTuple_GET_SIZE(classes.get()) : 0;
  for (Py_ssize_t place = 0; place < count; ++place) {
    auto* const one = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(classes.get(), place));
#if PY_VERSION_HEX >= 0x030C0000
    const PyRef dict(PyType_GetDict(one));
#else
    const PyRef dict(Py_XNewRef(one->tp_dict));
#endif
    PyRef value(in_python(
        [&] { return dict ? Py_XNewRef(PyDict_GetItemWithError(dict.get(), name)) : nullptr; }));
    if (value) return {std::move(value), place};
    if (!PyErr_Occurred()) continue;
    if (!PyErr_ExceptionMatches(PyExc_Exception)) throw PythonError();
    PyErr_Clear();  // of a key that cannot be compared
  }
  return {nullptr, count};
}

const DLPackExchangeAPI* table_in(PyObject* capsule) noexcept {
  if (!capsule || !PyCapsule_IsValid(capsule, exchange_api_name)) return nullptr;
  auto* table =
      static_cast<const DLPackExchangeAPI*>(PyCapsule_GetPointer(capsule, exchange_api_name));
  while (table && table->header.version.major != DLPACK_MAJOR_VERSION) {
    table = reinterpret_cast<const DLPackExchangeAPI*>(table->header.prev_api);
  }
  return table;
}

ProducerClass look_at(PyTypeObject* type) {
  static PyObject* const api = intern("__dlpack_c_exchange_api__");
  static PyObject* const dlpack = intern("__dlpack__");
  static PyObject* const requires_grad = intern("requires_grad");
  static PyObject* const is_conj = intern("is_conj");
  static PyObject* const is_neg = intern("is_neg");
  const auto name_if_found = [type](PyObject* name) {
    return find(type, name).value ? name : nullptr;
  };
  const Found table = find(type, api), method = find(type, dlpack);
  return {method.value != nullptr,
          method.place < table.place ? nullptr : table_in(table.value.get()),
          name_if_found(requires_grad), name_if_found(is_conj), name_if_found(is_neg)};
}

}  // namespace

const void* find_in_class(PyTypeObject* type, PyObject* name) {
  return find(type, name).value.get();
}

ProducerClass producer_class(PyTypeObject* type) {
  Line& line = line_of(type);
  const unsigned version = version_of(type);
  if (line.is_of(type, version)) return line.found;
  const PyRef held(Py_NewRef(reinterpret_cast<PyObject*>(type)));
  const ProducerClass found = look_at(type);
  if (version != 0 && version == version_of(type)) line = {type, version, found};
  return found;
}

long traits_of(PyTypeObject* type) {
  const unsigned version = version_of(type);
  Line& line = line_of(type);
  if (line.is_of(type, version) && line.traits != not_asked) return line.traits;
  const PyRef held(Py_NewRef(reinterpret_cast<PyObject*>(type)));
  const PyRef answer(in_python([&] { return PyObject_CallOneArg(hooks().traits_of, held.get()); }));
  const long traits = answer ? PyLong_AsLong(answer.get()) : -1;
  if (traits < 0) throw PythonError();
  if (line.is_of(type, version) && version == version_of(type)) line.traits = traits;
  return traits;
}

}  // namespace sycl_ext
