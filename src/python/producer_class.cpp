// SPDX-License-Identifier: Apache-2.0
#include "python/producer_class.hpp"

#include <cstdint>
#include <unordered_map>

namespace sycl_ext {

namespace {

const DLPackExchangeAPI* table_of(PyTypeObject* type) {
  static PyObject* const name = intern("__dlpack_c_exchange_api__");
  const PyRef capsule(PyObject_GetAttr(reinterpret_cast<PyObject*>(type), name));
  if (!capsule) (void)take_exception();
  if (!capsule || !PyCapsule_IsValid(capsule.get(), exchange_api_name)) return nullptr;
  const auto* table =
      static_cast<const DLPackExchangeAPI*>(PyCapsule_GetPointer(capsule.get(), exchange_api_name));
  std::uint64_t newer = UINT64_MAX;  // versions must decrease along the chain, so that it ends
  while (table && table->header.version.major < newer) {
    newer = table->header.version.major;
    if (newer == dlpack_version.major) return table;
    table = reinterpret_cast<const DLPackExchangeAPI*>(table->header.prev_api);
  }
  return nullptr;
}

// The version of a class; 0: it has none at the moment.
unsigned version_of(PyTypeObject* type) noexcept {
#if PY_VERSION_HEX < 0x030C0000
  if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG)) return 0;
#endif
  return type->tp_version_tag;
}

}  // namespace

// Cached by the version that CPython gives a class.  The version changes as soon as the class or
// one of its bases is changed.
//
// https://docs.python.org/3/c-api/typeobj.html#c.PyTypeObject.tp_version_tag
ProducerClass producer_class(PyTypeObject* type) {
  struct Known {
    unsigned version;
    ProducerClass producer;
  };
  // By addresses that are compared, and not followed; under the GIL.
  static auto& classes = *new std::unordered_map<PyTypeObject*, Known>();  // also at exit
  constexpr std::size_t max_classes = 256;                                 // then all are forgotten
  const unsigned version = version_of(type);
  if (version != 0) {
    const auto known = classes.find(type);
    if (known != classes.end() && known->second.version == version) return known->second.producer;
  }
  const PyRef held(Py_NewRef(reinterpret_cast<PyObject*>(type)));
  const PyRef answer(PyObject_CallOneArg(hooks.facts_of_class, held.get()));
  ProducerClass producer{answer ? PyLong_AsLong(answer.get()) : -1, nullptr};
  if (producer.facts < 0) throw PythonError();
  if (producer.facts & ProducerClass::has_table) producer.table = table_of(type);
  if (version != 0 && version == version_of(type)) {
    if (classes.size() >= max_classes) classes.clear();
    classes[type] = {version, producer};
  }
  return producer;
}

bool has_our_dlpack(PyObject* object) {
  const auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  if (type == hooks.tensor_class || type == hooks.host_view_class) return true;
  return is_tensor(object) && producer_class(Py_TYPE(object)).facts & ProducerClass::is_tensor;
}

}  // namespace sycl_ext
