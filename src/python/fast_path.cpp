// SPDX-License-Identifier: Apache-2.0
#include "python/fast_path.hpp"

#include <structmember.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "python/exchange_api.hpp"
#include "python/numpy_bridge.hpp"
#include "runtime/runtimes.hpp"
#include "tensor/copy.hpp"

namespace sycl_ext {

namespace {

// The arguments of a vectorcall.
struct Call {
  PyObject* const* args;
  Py_ssize_t n_positional;
  PyObject* keyword_names;  // nullptr or a tuple

  Py_ssize_t n_keywords() const { return keyword_names ? PyTuple_GET_SIZE(keyword_names) : 0; }
};

// A result, nullptr with an exception set, or `pass_on`: the Python function has to answer.
using FastFunction = PyObject* (*)(const Call&);
PyObject* const pass_on = Py_NotImplemented;

// The value of each keyword, nullptr when it is absent.  False: there is another keyword, too.
template <std::size_t Count>
bool read_keywords(const Call& call, const std::array<PyObject*, Count>& names,
                   std::array<PyObject*, Count>* values) {
  values->fill(nullptr);
  for (Py_ssize_t i = 0; i < call.n_keywords(); ++i) {
    PyObject* const name = PyTuple_GET_ITEM(call.keyword_names, i);
    // Keywords of a call are interned.
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) return false;
    (*values)[static_cast<std::size_t>(found - names.begin())] = call.args[call.n_positional + i];
  }
  return true;
}

// Whether no keyword says anything: each is one of `names`, and None.
template <std::size_t Count>
bool all_default(const Call& call, const std::array<PyObject*, Count>& names) {
  std::array<PyObject*, Count> values;
  return read_keywords(call, names, &values) &&
         std::all_of(values.begin(), values.end(),
                     [](PyObject* value) { return !value || value == Py_None; });
}

PyObject* intern(const char* text) { return PyUnicode_InternFromString(text); }

// ---- from_dlpack --------------------------------------------------------------------------------

// Host memory that the default device does not read is copied to it, by the Python function.
PyObject* finish(Imported&& imported, PyObject* base = nullptr) {
  const bool on_host = imported.tensor.on_host;
  PyObject* tensor = wrap_tensor(std::move(imported.tensor), base);
  if (!tensor || !on_host) return tensor;
  const PyRef host(tensor);
  return in_python([&] { return PyObject_CallOneArg(fast_path_hooks().settle_host, host.get()); });
}

// What a producer on an entry gets as `stream`; borrowed.
PyObject* stream_for(int id) {
  static std::vector<PyObject*> streams;
  const auto index = static_cast<std::size_t>(id);
  if (index >= streams.size()) streams.resize(index + 1, nullptr);
  if (!streams[index]) {
    streams[index] =
        in_python([&] { return PyObject_CallFunction(fast_path_hooks().stream_for, "i", id); });
  }
  return streams[index];
}

std::optional<DLDevice> read_device(PyObject* pair) {
  if (!PyTuple_CheckExact(pair) || PyTuple_GET_SIZE(pair) != 2) return std::nullopt;
  long values[2];
  for (Py_ssize_t i = 0; i < 2; ++i) {
    PyObject* item = PyTuple_GET_ITEM(pair, i);
    if (!PyLong_Check(item)) return std::nullopt;
    values[i] = PyLong_AsLong(item);
    if (values[i] == -1 && PyErr_Occurred()) {
      PyErr_Clear();
      return std::nullopt;
    }
    if (values[i] < 0 || values[i] > INT32_MAX) return std::nullopt;
  }
  return DLDevice{static_cast<DLDeviceType>(values[0]), static_cast<std::int32_t>(values[1])};
}

// The queue that a producer shows; empty without an exception: none; Py_NotImplemented: it may work
// with another SYCL runtime (_queues.OTHER_RUNTIME).
PyRef queue_of_producer(PyObject* x) {
  static PyObject* const name = intern("sycl_queue");
  if (!_PyType_Lookup(Py_TYPE(x), name) && !has_other_libsycl()) return nullptr;
  PyRef queue(in_python([&] { return PyObject_CallOneArg(fast_path_hooks().producer_queue, x); }));
  if (!queue) throw PythonError();
  if (queue.get() == Py_None) queue.reset();
  return queue;
}

// Calls x.__dlpack__ in the newest form, on its own queue or on the one of the entry; nullptr with
// an exception set when the producer refuses.
PyObject* ask_producer(PyObject* x, const DLDevice& device, PyObject* own_queue) {
  static PyObject* const method = intern("__dlpack__");
  static PyObject* const version =
      Py_BuildValue("(ii)", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
  // Interned, as the names of a call in Python are: producers compare identities first.
  static PyObject* const host_names = Py_BuildValue("(N)", intern("max_version"));
  static PyObject* const usm_names = Py_BuildValue("(NN)", intern("max_version"), intern("stream"));
  PyObject* args[] = {x, version, nullptr};
  PyObject* names = host_names;
  if (device.device_type == kDLOneAPI && find_entry(device.device_id)) {
    args[2] = own_queue ? own_queue : stream_for(device.device_id);
    if (!args[2]) return nullptr;
    names = usm_names;
  }
  return in_python([&] {
    return PyObject_VectorcallMethod(method, args, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, names);
  });
}

// Whether nobody may write to arrays of that class, which their capsules do not say: those are
// imported by the Python function (sycl_ext/_negotiation/producers.py).
bool is_immutable(PyTypeObject* type) {
  static PyObject* const name = intern("__module__");
  PyObject* module = _PyType_Lookup(type, name);
  const char* text = module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : nullptr;
  if (!text) return false;
  PyObject* const packages = fast_path_hooks().immutable_packages;  // a tuple of str
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(packages); ++i) {
    const char* const package = PyUnicode_AsUTF8(PyTuple_GET_ITEM(packages, i));
    const std::size_t length = package ? std::strlen(package) : 0;
    if (length && std::strncmp(text, package, length) == 0 &&
        (text[length] == '\0' || text[length] == '.')) {
      return true;
    }
  }
  return false;
}

// Whether torch's lazy negative bit has to be looked at (_execute._refuse_negative_bit).
bool may_be_negated(PyObject* x) {
  static PyObject* const name = intern("is_neg");
  return _PyType_Lookup(Py_TYPE(x), name) && has_lazy_state(x);
}

// `has_other_roads`: a producer that refuses is tried in another way, by the Python function.
PyObject* import_from_protocol(PyObject* x, bool has_other_roads) {
  static PyObject* const method = intern("__dlpack_device__");
  if (may_be_negated(x)) return pass_on;
  const PyRef answer(in_python([&] { return PyObject_CallMethodNoArgs(x, method); }));
  if (!answer) {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return nullptr;  // KeyboardInterrupt
    PyErr_Clear();  // the Python function asks again, and says what is wrong
    return pass_on;
  }
  const std::optional<DLDevice> device = read_device(answer.get());
  if (!device || (device->device_type != kDLCPU && device->device_type != kDLOneAPI)) {
    return pass_on;
  }
  const PyRef queue(device->device_type == kDLOneAPI ? queue_of_producer(x) : nullptr);
  if (queue.get() == Py_NotImplemented) return pass_on;
  const PyRef capsule(ask_producer(x, *device, queue.get()));
  if (capsule) {
    if (is_immutable(Py_TYPE(x))) return pass_on;
    // as_tensor, which looks into a NumPy array itself when it must, names it as the base.
    PyObject* const base = has_other_roads && is_ndarray(x) ? x : nullptr;
    Imported imported = consume_capsule(capsule.get(), &*device, true);
    // What dpnp says of every array of 0 dimensions (_execute._import_rest).
    if (imported.tensor.readonly && imported.tensor.layout.ndim() == 0) return pass_on;
    PyObject* tensor = finish(std::move(imported), base);
    if (!tensor || !queue) return tensor;
    PyRef result(tensor);
    const PyRef done(in_python([&] {
      return PyObject_CallFunctionObjArgs(fast_path_hooks().order_behind, tensor, queue.get(),
                                          nullptr);
    }));
    return done ? result.release() : nullptr;
  }
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return nullptr;  // KeyboardInterrupt and the like
  if (has_other_roads) {
    PyErr_Clear();
    return pass_on;
  }
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback) PyException_SetTraceback(value, traceback);
  const PyRef owned_type(type), owned_value(value), owned_traceback(traceback);
  return in_python([&] {
    return PyObject_CallFunctionObjArgs(fast_path_hooks().import_refused, x, answer.get(), value,
                                        nullptr);
  });
}

bool is_simple(const Call& call) {
  static const std::array<PyObject*, 2> names{intern("device"), intern("copy")};
  return call.n_positional == 1 && all_default(call, names) && !hooks().trace;
}

// An instance of a subclass of numpy.ndarray may have attributes, and so be part of a reference
// cycle. NumPy's capsule would hide the reference to it from the collector.
bool is_collectable_ndarray(PyObject* x) {
  static PyObject* const method = intern("__dlpack__");
  return is_ndarray_subclass(x) &&
         _PyType_Lookup(Py_TYPE(x), method) == _PyType_Lookup(ndarray_type(), method);
}

PyObject* import_any(PyObject* x, bool has_other_roads) {
  if (is_tensor(x)) {
    const Tensor& tensor = tensor_of(x);
    if (!tensor.on_host) return wrap_tensor(tensor, base_of(x));
    if (!tensor.memory->entry) return pass_on;
    return wrap_tensor(as_usm(tensor), base_of(x));  // a host view of USM is the USM it is
  }
  if (PyCapsule_CheckExact(x)) return finish(consume_capsule(x, nullptr, true));
  if (is_collectable_ndarray(x)) {
    const PyRef host(
        in_python([&] { return PyObject_CallOneArg(fast_path_hooks().from_ndarray, x); }));
    if (!host) return nullptr;
    return in_python(
        [&] { return PyObject_CallOneArg(fast_path_hooks().settle_host, host.get()); });
  }
  if (std::optional<Imported> imported = import_through_api(x, true)) {
    return finish(std::move(*imported));
  }
  return import_from_protocol(x, has_other_roads);
}

PyObject* fast_from_dlpack(const Call& call) {
  return is_simple(call) ? import_any(call.args[0], false) : pass_on;
}

// Whether there is an attribute that can be read.  What reading it raises is left to the Python
// function; PyObject_HasAttr of Python 3.13 and newer reports it as unraisable.
bool has_attribute(PyObject* object, PyObject* name) {
#if PY_VERSION_HEX >= 0x030D0000
  const int found = PyObject_HasAttrWithError(object, name);
  if (found < 0) PyErr_Clear();
  return found > 0;
#else
  return PyObject_HasAttr(object, name);
#endif
}

// USM that describes itself comes with a queue, which DLPack does not have.
PyObject* fast_as_tensor(const Call& call) {
  static PyObject* const description = intern("__sycl_usm_array_interface__");
  if (!is_simple(call)) return pass_on;
  PyObject* x = call.args[0];
  if (!is_tensor(x) && has_attribute(x, description)) return pass_on;
  return import_any(x, true);
}

// ---- host_view and to_numpy ---------------------------------------------------------------------

PyObject* fast_host_view(const Call& call) {
  static const std::array<PyObject*, 1> names{intern("copy")};
  if (call.n_positional != 1 || !all_default(call, names) || hooks().trace ||
      !is_tensor(call.args[0])) {
    return pass_on;
  }
  // A host view is its own host view, and may have a copy to make yet.
  if (reinterpret_cast<PyObject*>(Py_TYPE(call.args[0])) == hooks().host_view_class) return pass_on;
  const Tensor& tensor = tensor_of(call.args[0]);
  if (!tensor.host_accessible() || has_negative_stride(tensor.layout)) return pass_on;
  return wrap_tensor(as_host_view(tensor), base_of(call.args[0]),
                     reinterpret_cast<PyTypeObject*>(hooks().host_view_class));
}

PyObject* fast_to_numpy(const Call& call) {
  static const std::array<PyObject*, 1> names{intern("copy")};
  std::array<PyObject*, 1> values;
  if (call.n_positional < 1 || call.n_positional > 2 || !is_tensor(call.args[0]) ||
      !read_keywords(call, names, &values)) {
    return pass_on;
  }
  PyObject*& copy = values[0];
  if (call.n_positional == 2 && std::exchange(copy, call.args[1])) return pass_on;
  if (copy && copy != Py_None && copy != Py_True && copy != Py_False) return pass_on;
  const Tensor& tensor = tensor_of(call.args[0]);
  if (!tensor.host_accessible()) return pass_on;
  if (copy != Py_True) {
    wait_for_pending_work(tensor);
    return ndarray_over(call.args[0]);
  }
  const PyRef host([&] {
    std::optional<ReleasedGil> released;
    const Tensor source = tensor;
    if (is_worth_releasing(source)) released.emplace();
    Tensor result = copy_to_host(source);
    released.reset();
    return wrap_tensor(std::move(result), nullptr);
  }());
  return host ? ndarray_over(host.get()) : nullptr;
}

// ---- empty and zeros ----------------------------------------------------------------------------

// A shape of plain ints; false: the Python function reads it.
bool read_shape(PyObject* object, std::array<std::int64_t, max_ndim>* shape, int* ndim) {
  const auto read = [&](PyObject* item) {
    int overflow = 0;
    if (!PyLong_CheckExact(item)) return false;
    const long long value = PyLong_AsLongLongAndOverflow(item, &overflow);
    (*shape)[static_cast<std::size_t>((*ndim)++)] = value;
    return overflow == 0 && value >= 0;
  };
  *ndim = 0;
  if (PyLong_CheckExact(object)) return read(object);
  if (!PyTuple_CheckExact(object) || PyTuple_GET_SIZE(object) > max_ndim) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) {
    if (!read(PyTuple_GET_ITEM(object, i))) return false;
  }
  return true;
}

// The int that a dict has for a key; -1: none.
long look_up(PyObject* dict, PyObject* key) {
  if (!dict) return -1;
  PyObject* value = PyDict_GetItemWithError(dict, key);
  if (!value) {
    PyErr_Clear();  // a key that cannot be hashed
    return -1;
  }
  return PyLong_AsLong(value);
}

PyObject* make_new(const Call& call, bool zero) {
  enum { dtype, usm_type, device };
  static const std::array<PyObject*, 3> names{intern("dtype"), intern("usm_type"),
                                              intern("device")};
  static PyObject* const kinds =
      Py_BuildValue("{s:i,s:i,s:i}", "device", 0, "shared", 1, "host", 2);
  static PyObject* const default_dtype = intern("float32");
  static PyObject* const default_kind = intern("device");
  std::array<PyObject*, 3> values;
  std::array<std::int64_t, max_ndim> shape;
  int ndim;
  if (call.n_positional < 1 || call.n_positional > 2 || !read_keywords(call, names, &values) ||
      !read_shape(call.args[0], &shape, &ndim)) {
    return pass_on;
  }
  if (call.n_positional == 2 && std::exchange(values[dtype], call.args[1])) return pass_on;
  if (!values[dtype]) values[dtype] = default_dtype;
  if (!values[usm_type]) values[usm_type] = default_kind;
  const long index = look_up(fast_path_hooks().dtype_indices, values[dtype]);
  const long kind = look_up(kinds, values[usm_type]);
  if (index < 0 || kind < 0) return pass_on;
  const Entry* entry = nullptr;
  if (!values[device] || values[device] == Py_None) {
    entry = &default_entry();
  } else {
    const long id = look_up(fast_path_hooks().device_ids, values[device]);
    if (id < 0) return pass_on;
    entry = &entry_at(static_cast<int>(id));
  }
  const DType& element = dtypes[static_cast<std::size_t>(index)];
  const Layout layout = compact_layout(ndim, shape.data(), Order::c, element.itemsize());
  std::optional<ReleasedGil> released;
  if (zero ||
      static_cast<std::size_t>(element_count(layout)) * element.itemsize() >= gil_threshold) {
    released.emplace();
  }
  Tensor tensor = make_tensor(*entry, static_cast<UsmKind>(kind), element, layout);
  if (zero) fill_zero(tensor);
  released.reset();
  return wrap_tensor(std::move(tensor), nullptr);
}

PyObject* fast_empty(const Call& call) { return make_new(call, false); }
PyObject* fast_zeros(const Call& call) { return make_new(call, true); }

const struct {
  const char* name;
  FastFunction function;
} fast_functions[] = {
    {"as_tensor", fast_as_tensor}, {"from_dlpack", fast_from_dlpack},
    {"host_view", fast_host_view}, {"to_numpy", fast_to_numpy},
    {"empty", fast_empty},         {"zeros", fast_zeros},
};

// ---- the callable -------------------------------------------------------------------------------

struct Accelerated {
  PyObject_HEAD PyObject* dict;  // __doc__, __name__, __wrapped__ ... of the Python function
  PyObject* function;
  FastFunction fast;
  vectorcallfunc vectorcall;
};

Accelerated* cast(PyObject* object) { return reinterpret_cast<Accelerated*>(object); }

PyObject* call_accelerated(PyObject* self, PyObject* const* args, std::size_t nargs_flags,
                           PyObject* keyword_names) {
  PyObject* const result = guarded<PyObject*>(nullptr, [&] {
    return cast(self)->fast({args, PyVectorcall_NARGS(nargs_flags), keyword_names});
  });
  if (result != pass_on) return result;
  return PyObject_Vectorcall(cast(self)->function, args, nargs_flags, keyword_names);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(cast(self)->dict);
  Py_VISIT(cast(self)->function);
  return 0;
}

int clear(PyObject* self) {
  Py_CLEAR(cast(self)->dict);
  Py_CLEAR(cast(self)->function);
  return 0;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

// As a function in a class body: binds to the instance.
PyObject* bind(PyObject* self, PyObject* instance, PyObject*) {
  if (!instance || instance == Py_None) {
    Py_INCREF(self);
    return self;
  }
  return PyMethod_New(self, instance);
}

PyObject* repr(PyObject* self) { return PyObject_Repr(cast(self)->function); }

// Pickled by name, as a function is.
PyObject* reduce(PyObject* self, PyObject*) {
  return PyObject_GetAttrString(cast(self)->function, "__qualname__");
}

PyTypeObject* accelerated_type() {
  static PyMemberDef members[] = {
      {"__dictoffset__", T_PYSSIZET, offsetof(Accelerated, dict), READONLY, nullptr},
      {"__vectorcalloffset__", T_PYSSIZET, offsetof(Accelerated, vectorcall), READONLY, nullptr},
      {nullptr, 0, 0, 0, nullptr},
  };
  static PyMethodDef methods[] = {
      {"__reduce__", reduce, METH_NOARGS, nullptr},
      {nullptr, nullptr, 0, nullptr},
  };
  static PyGetSetDef getset[] = {
      {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
      {nullptr, nullptr, nullptr, nullptr, nullptr},
  };
  static PyType_Slot slots[] = {
      {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
      {Py_tp_descr_get, reinterpret_cast<void*>(bind)},
      {Py_tp_repr, reinterpret_cast<void*>(repr)},
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(clear)},
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_members, members},
      {Py_tp_methods, methods},
      {Py_tp_getset, getset},
      {0, nullptr},
  };
  static PyType_Spec spec = {"sycl_ext._core.Accelerated", sizeof(Accelerated), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                 Py_TPFLAGS_METHOD_DESCRIPTOR,
                             slots};
  static PyTypeObject* const type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  return type;
}

}  // namespace

FastPathHooks& fast_path_hooks() noexcept {
  static FastPathHooks instance;
  return instance;
}

PyObject* accelerate(const char* name, PyObject* function) {
  for (const auto& entry : fast_functions) {
    if (std::strcmp(entry.name, name) != 0) continue;
    PyTypeObject* type = accelerated_type();
    if (!type) return nullptr;
    PyObject* self = type->tp_alloc(type, 0);
    if (!self) return nullptr;
    Py_INCREF(function);
    cast(self)->function = function;
    cast(self)->fast = entry.function;
    cast(self)->vectorcall = call_accelerated;
    return self;
  }
  PyErr_Format(PyExc_ValueError, "there is no fast function for '%s'", name);
  return nullptr;
}

}  // namespace sycl_ext
