// SPDX-License-Identifier: Apache-2.0
#include "python/decisions.hpp"

#include <array>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "python/bind_rules.hpp"
#include "python/imports.hpp"
#include "rules/facts.hpp"
#include "runtime/devices/device_table.hpp"

namespace sycl_ext {

namespace {

PyRef checked(PyObject* object) {
  if (!object) throw PythonError();
  return PyRef(object);
}

PyRef attribute(PyObject* object, const char* name) {
  return checked(PyObject_GetAttrString(object, name));
}

bool is_true(const PyRef& flag) {
  const int answer = PyObject_IsTrue(flag.get());
  if (answer < 0) throw PythonError();
  return answer;
}

PyRef unless_none(PyRef object) { return object.get() == Py_None ? nullptr : std::move(object); }

// ---- what a target depends on -------------------------------------------------------------------

// targets.Lookup: the value of `name` in `holder`.  `asked`: it is compared by ==, and a function
// is called for its answer.
struct Lookup {
  PyRef holder, name, value;
  bool asked;
};

using Lookups = std::vector<Lookup>;

Lookups read_lookups(PyObject* target, const char* name) {
  const PyRef list = attribute(target, name);
  Lookups all;
  for (Py_ssize_t i = 0; i < PyList_Size(list.get()); ++i) {
    PyObject* const row = PyList_GET_ITEM(list.get(), i);
    const auto field = [row](Py_ssize_t place) {
      return PyRef(Py_XNewRef(PyTuple_GetItem(row, place)));
    };
    all.push_back({field(0), field(1), field(2), is_true(field(3))});
  }
  if (PyErr_Occurred()) throw PythonError();
  return all;
}

// The dictionary in which the value of a lookup stands (borrowed); nullptr: the holder computes it.
PyObject* names_of(PyObject* holder) {
  if (PyDict_CheckExact(holder)) return holder;
  return PyModule_CheckExact(holder) ? PyModule_GetDict(holder) : nullptr;
}

// The value in that dictionary (borrowed); nullptr: a module may still compute it.
PyObject* stored_value(const Lookup& lookup) {
  PyObject* const holder = lookup.holder.get();
  PyObject* const names = names_of(holder);
  if (!names) return nullptr;
  PyObject* const value = PyDict_GetItemWithError(names, lookup.name.get());
  if (!value && PyErr_Occurred()) throw PythonError();
  return !value && names == holder ? Py_None : value;
}

// A new reference to the value now; None: there is none.
PyRef value_now(const Lookup& lookup) {
  if (PyObject* const stored = stored_value(lookup)) return PyRef(Py_NewRef(stored));
  PyRef value(PyObject_GetAttr(lookup.holder.get(), lookup.name.get()));
  if (!value) (void)take_exception();
  return value ? std::move(value) : PyRef(Py_NewRef(Py_None));
}

bool holds(const Lookup& lookup) {
  if (stored_value(lookup) == lookup.value.get()) return true;
  PyRef now = value_now(lookup);
  if (!lookup.asked) return now.get() == lookup.value.get();
  if (PyCallable_Check(now.get())) now = checked(PyObject_CallNoArgs(now.get()));
  const int is_same = PyObject_RichCompareBool(now.get(), lookup.value.get(), Py_EQ);
  if (is_same < 0) throw PythonError();
  return is_same;
}

// ---- what is kept -------------------------------------------------------------------------------

// A target, and the decisions that were made for it.
struct Target {
  PyRef consumer, device, usm_type;  // kept, so that no other object gets their addresses
  PyRef object;                      // decisions.ReadTarget
  int entries;                       // that had been added to the device table
  Lookups lookups, device_lookups;
  std::unordered_map<std::uint64_t, std::shared_ptr<const Decision>> decisions;
};

constexpr std::size_t max_decisions = 256;  // of a target; then all are forgotten

using Lines = std::array<std::shared_ptr<Target>, 64>;

// The most recently met consumers; read and written with the GIL. The table is never destroyed: at
// the end of the process, no thread may drop a reference.
Lines& lines() {
  static Lines& all = *new Lines();
  return all;
}

std::shared_ptr<Target>& line_of(const ExchangeRequest& request) {
  const auto hash = reinterpret_cast<std::uintptr_t>(request.consumer) / 16 * 31 +
                    reinterpret_cast<std::uintptr_t>(request.device) / 16 +
                    reinterpret_cast<std::uintptr_t>(request.usm_type) / 16;
  return lines()[hash % lines().size()];
}

bool hold(const Lookups& lookups) {
  for (const Lookup& lookup : lookups) {
    if (!holds(lookup)) return false;
  }
  return true;
}

// Whether a target is seen to be out of date. Only values that stand in a dictionary are compared:
// a library that is called may raise, and its exception belongs to the exchanges with it.  So does
// that of a key in a dictionary that cannot be compared.
bool is_outdated(const Target& target) {
  if (target.entries != added_entries()) return true;
  for (const Lookup& lookup : target.lookups) {
    if (lookup.asked) continue;
    try {
      PyObject* const stored = stored_value(lookup);
      if (stored && stored != lookup.value.get()) return true;
    } catch (const PythonError&) {
      if (!PyErr_ExceptionMatches(PyExc_Exception)) throw;  // Ctrl-C, for example
      PyErr_Clear();
      return true;
    }
  }
  return false;
}

// Forgets the targets that are out of date: the objects that they keep alive may be large.
void forget_old() {
  for (std::size_t i = 0; i < lines().size(); ++i) {
    const std::shared_ptr<Target> line = lines()[i];
    if (!line || !is_outdated(*line)) continue;
    std::shared_ptr<Target> dropped;  // dropped last, because that may run Python
    if (lines()[i] == line) dropped = std::exchange(lines()[i], nullptr);
  }
}

std::shared_ptr<Target> read_target(const ExchangeRequest& request) {
  auto target = std::make_shared<Target>();
  target->entries = added_entries();  // read first, so that a new entry counts as later
  target->object = checked(PyObject_CallFunctionObjArgs(hooks.read_target, request.consumer,
                                                        request.device, request.usm_type, nullptr));
  if (is_true(attribute(target->object.get(), "kept"))) {
    target->consumer.reset(Py_NewRef(request.consumer));
    target->device.reset(Py_NewRef(request.device));
    target->usm_type.reset(Py_NewRef(request.usm_type));
    target->lookups = read_lookups(target->object.get(), "lookups");
    target->device_lookups = read_lookups(target->object.get(), "device_lookups");
    forget_old();
    const std::shared_ptr<Target> dropped = std::exchange(line_of(request), target);
  }
  return target;
}

std::shared_ptr<Target> target_of(const ExchangeRequest& request) {
  const std::shared_ptr<Target> known = line_of(request);
  if (known && known->consumer.get() == request.consumer && known->device.get() == request.device &&
      known->usm_type.get() == request.usm_type && known->entries == added_entries() &&
      hold(known->lookups)) {
    return known;
  }
  return read_target(request);
}

// Whether memory other than the host's may be handed over.
bool may_leave_host(const ArrayFacts& facts, const ExchangeRequest& request) {
  return facts.entry != MemoryFacts::none || request.device != Py_None;
}

View read_view(const PyRef& number) {
  const long view = PyLong_AsLong(number.get());
  if (view == -1 && PyErr_Occurred()) throw PythonError();
  return static_cast<View>(view);
}

std::shared_ptr<const Decision> read_decision(PyRef object) {
  auto decision = std::make_shared<Decision>();
  decision->view = read_view(attribute(object.get(), "view"));
  decision->waits = is_true(attribute(object.get(), "waits"));
  decision->call = unless_none(attribute(object.get(), "call"));
  decision->then = unless_none(attribute(object.get(), "then"));
  decision->object = std::move(object);
  return decision;
}

}  // namespace

Decided decide_exchange(PyObject* x, const ExchangeRequest& request) {
  std::shared_ptr<Target> target = target_of(request);
  PyObject* const may_copy = request.copy == Py_False ? Py_False : Py_None;
  PyRef source = checked(import_object(x, {/*dlpack_only=*/false, /*in_place=*/true, may_copy}));
  const ArrayFacts facts = array_facts(tensor_of(source.get()));
  if (may_leave_host(facts, request) && !hold(target->device_lookups)) {
    target = read_target(request);
  }
  const auto copy = static_cast<std::uint64_t>(copy_of(request.copy));
  const std::uint64_t host_copy = request.host_copy == Py_True;
  const std::uint64_t key = key_of(facts) << 3 | copy << 1 | host_copy;
  const auto known = target->decisions.find(key);
  if (known != target->decisions.end()) return {std::move(source), known->second};
  std::shared_ptr<const Decision> made = read_decision(checked(
      PyObject_CallFunctionObjArgs(hooks.decide, target->object.get(), py::cast(facts).ptr(),
                                   request.copy, request.host_copy, nullptr)));
  if (!is_true(attribute(made->object.get(), "kept"))) return {std::move(source), std::move(made)};
  if (target->decisions.size() >= max_decisions) {
    const auto dropped = std::exchange(target->decisions, {});
  }
  // The earlier decision is dropped after the table has the new one, because that may run Python.
  const std::shared_ptr<const Decision> dropped = std::exchange(target->decisions[key], made);
  return {std::move(source), std::move(made)};
}

}  // namespace sycl_ext
