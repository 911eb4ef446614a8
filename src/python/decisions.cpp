// SPDX-License-Identifier: Apache-2.0
#include "python/decisions.hpp"

#include <array>
#include <unordered_map>
#include <utility>

#include "python/imports.hpp"
#include "python/routes.hpp"
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

// ---- reads --------------------------------------------------------------------------------------

std::vector<Read> reads_of(PyObject* object) {
  const PyRef triples = attribute(object, "reads");
  std::vector<Read> reads;
  for (Py_ssize_t i = 0; i < PyTuple_Size(triples.get()); ++i) {
    PyObject* const triple = PyTuple_GET_ITEM(triples.get(), i);
    const auto item = [triple](Py_ssize_t place) {
      return PyRef(Py_NewRef(PyTuple_GetItem(triple, place)));
    };
    reads.push_back({item(0), item(1), item(2)});
  }
  if (PyErr_Occurred()) throw PythonError();
  return reads;
}

// The dictionary of a namespace (borrowed), which is a dictionary itself or a module; nullptr: the
// object is neither.
PyObject* names_in(PyObject* of) {
  if (PyDict_CheckExact(of)) return of;
  return PyModule_CheckExact(of) ? PyModule_GetDict(of) : nullptr;
}

// A new reference to the current value of a name in a namespace; None: there is no such name.
PyRef current_value(PyObject* of, PyObject* name) {
  PyObject* const names = names_in(of);
  if (names) {
    PyObject* const value = PyDict_GetItemWithError(names, name);
    if (value) return PyRef(Py_NewRef(value));
    if (PyErr_Occurred()) throw PythonError();
  }
  PyRef value(names == of ? nullptr : PyObject_GetAttr(of, name));
  if (!value && PyErr_Occurred()) (void)take_exception();
  return value ? std::move(value) : PyRef(Py_NewRef(Py_None));
}

bool holds(const Read& read) {
  if (read.name.get() != Py_None) {
    return current_value(read.of.get(), read.name.get()).get() == read.value.get();
  }
  const PyRef now = checked(PyObject_CallNoArgs(read.of.get()));
  const int is_same = PyObject_RichCompareBool(now.get(), read.value.get(), Py_EQ);
  if (is_same < 0) throw PythonError();
  return is_same;
}

bool hold(const std::vector<Read>& reads) {
  for (const Read& read : reads) {
    if (!holds(read)) return false;
  }
  return true;
}

// ---- what is kept -------------------------------------------------------------------------------

// An answer of decisions.resolve, and the decisions that were made for it.
struct Resolved {
  PyRef consumer, device, usm_type;  // kept, so that no other object gets their addresses
  PyRef object;                      // decisions.Resolved
  int entries;                       // in the device table
  std::vector<Read> reads;
  std::unordered_map<std::uint64_t, std::shared_ptr<const Decision>> decisions;
};

constexpr std::size_t max_decisions = 256;  // for a consumer; then all are forgotten

using Lines = std::array<std::shared_ptr<Resolved>, 64>;

// The most recently met consumers; read and written with the GIL. The table is never destroyed: at
// the end of the process, no thread may drop a reference.
Lines& lines() {
  static Lines& all = *new Lines();
  return all;
}

std::shared_ptr<Resolved>& line_of(const ExchangeRequest& request) {
  const auto hash = reinterpret_cast<std::uintptr_t>(request.consumer) / 16 * 31 +
                    reinterpret_cast<std::uintptr_t>(request.device) / 16 +
                    reinterpret_cast<std::uintptr_t>(request.usm_type) / 16;
  return lines()[hash % lines().size()];
}

bool is_current(const Resolved& resolved) {
  return resolved.entries == entries_so_far() && hold(resolved.reads);
}

// Forgets the consumers whose answer is out of date: the objects that it kept alive may be large.
void forget_old() {
  for (std::size_t i = 0; i < lines().size(); ++i) {
    const std::shared_ptr<Resolved> line = lines()[i];
    if (!line || is_current(*line)) continue;
    std::shared_ptr<Resolved> dropped;  // dropped last, because that may run Python
    if (lines()[i] == line) dropped = std::exchange(lines()[i], nullptr);
  }
}

std::shared_ptr<Resolved> resolve(const ExchangeRequest& request) {
  const std::shared_ptr<Resolved> known = line_of(request);
  if (known && known->consumer.get() == request.consumer && known->device.get() == request.device &&
      known->usm_type.get() == request.usm_type && is_current(*known)) {
    return known;
  }
  auto resolved = std::make_shared<Resolved>();
  resolved->entries = entries_so_far();  // read first, so that a new entry counts as later
  resolved->object = checked(PyObject_CallFunctionObjArgs(
      exchange_hooks.resolve, request.consumer, request.device, request.usm_type, nullptr));
  if (is_true(attribute(resolved->object.get(), "lasts"))) {
    resolved->consumer.reset(Py_NewRef(request.consumer));
    resolved->device.reset(Py_NewRef(request.device));
    resolved->usm_type.reset(Py_NewRef(request.usm_type));
    resolved->reads = reads_of(resolved->object.get());
    forget_old();
    const std::shared_ptr<Resolved> dropped = std::exchange(line_of(request), resolved);
  }
  return resolved;
}

// ---- the facts of an array ----------------------------------------------------------------------

class Facts {
 public:
  void add(std::uint64_t value, unsigned bits) noexcept {
    all_ |= value << used_;
    used_ += bits;
  }
  std::uint64_t all() const noexcept { return all_; }

 private:
  std::uint64_t all_ = 0;
  unsigned used_ = 0;
};

constexpr unsigned facts_bits = 44;

std::shared_ptr<const Decision> read_decision(PyRef object) {
  const PyRef step = attribute(object.get(), "step");
  auto decision = std::make_shared<Decision>();
  decision->form = static_cast<Form>(PyLong_AsLong(attribute(step.get(), "form").get()));
  decision->waits = is_true(attribute(step.get(), "waits"));
  decision->call = unless_none(attribute(step.get(), "call"));
  decision->then = unless_none(attribute(step.get(), "then"));
  decision->device = attribute(step.get(), "device");
  decision->copy = attribute(step.get(), "copy");
  decision->usm_type = attribute(step.get(), "usm_type");
  decision->reads = reads_of(object.get());
  decision->object = std::move(object);
  return decision;
}

}  // namespace

std::uint64_t array_facts(const Tensor& tensor) noexcept {
  const Entry* const entry = tensor.memory->entry;
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.data);
  Facts facts;
  facts.add(tensor.on_host, 1);
  facts.add(tensor.host_accessible(), 1);
  facts.add(tensor.readonly, 1);
  facts.add(has_negative_stride(tensor.layout), 1);
  facts.add(is_contiguous(tensor.layout, Order::c), 1);
  facts.add(is_contiguous(tensor.layout, Order::f), 1);
  facts.add(tensor.size() == 0, 1);
  facts.add(static_cast<bool>(tensor.memory->own_queue), 1);
  facts.add(static_cast<std::uint64_t>(tensor.memory->kind), 2);
  facts.add(static_cast<std::uint64_t>(tensor.dtype - dtypes.data()), 6);
  facts.add(static_cast<std::uint64_t>(tensor.layout.ndim()), 7);
  facts.add(static_cast<std::uint64_t>(__builtin_ctzll(address | exchange_hooks.max_alignment)), 4);
  facts.add(entry ? static_cast<std::uint64_t>(entry->id) + 1 : 0, 17);
  static_assert(usm_kind_count <= 1 << 2 && dtypes.size() <= 1 << 6 && max_ndim < 1 << 7 &&
                most_entries < 1 << 17 && facts_bits == 8 + 2 + 6 + 7 + 4 + 17);
  return facts.all();
}

Decided decide_exchange(PyObject* x, const ExchangeRequest& request) {
  const std::shared_ptr<Resolved> resolved = resolve(request);
  PyObject* const may_copy = request.copy == Py_False ? Py_False : Py_None;
  PyRef source = checked(import_object(x, {/*dlpack_only=*/false, /*in_place=*/true, may_copy}));
  const std::uint64_t facts = array_facts(tensor_of(source.get()));
  const std::uint64_t copy = copy_index(request.copy);
  const std::uint64_t host_copy = request.host_copy == Py_True;
  const std::uint64_t key = (copy << 1 | host_copy) << facts_bits | facts;
  const auto known = resolved->decisions.find(key);
  if (known != resolved->decisions.end()) {
    const std::shared_ptr<const Decision> decision = known->second;
    if (hold(decision->reads)) return {std::move(source), decision};
  }
  std::shared_ptr<const Decision> made = read_decision(
      checked(PyObject_CallFunction(exchange_hooks.decide, "OKOO", resolved->object.get(), facts,
                                    request.copy, request.host_copy)));
  if (resolved->decisions.size() >= max_decisions) {
    const auto dropped = std::exchange(resolved->decisions, {});
  }
  // The earlier decision is dropped after the table has the new one, because that may run Python.
  const std::shared_ptr<const Decision> dropped = std::exchange(resolved->decisions[key], made);
  return {std::move(source), std::move(made)};
}

}  // namespace sycl_ext
