// SPDX-License-Identifier: Apache-2.0
#include "python/functions.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "python/docstrings.hpp"
#include "python/dpctl_queue.hpp"
#include "python/exchange.hpp"
#include "python/host_arrays.hpp"
#include "python/imports.hpp"
#include "runtime/devices/device_table.hpp"
#include "tensor/copy.hpp"

namespace sycl_ext {

namespace {

// ---- arguments ----------------------------------------------------------------------------------

// The arguments of a vectorcall.
struct Call {
  PyObject* const* args;
  Py_ssize_t n_positional;
  PyObject* keyword_names;  // nullptr or a tuple
};

template <class... Names>
std::array<PyObject*, sizeof...(Names)> interned(Names... names) {
  return {intern(names)...};
}

// The signature of a function: `names` in order, interned.  The first `positional_only` names have
// no keyword, the first `positional` may be passed by position, and the first `required` have no
// default.
template <std::size_t Count>
struct Signature {
  const char* const function;
  const std::array<PyObject*, Count> names;
  const std::size_t positional_only, positional, required;
  const char* const hint = "";  // the advice when there are too many positional arguments

  // The values, and `missing` for arguments that were not passed.  Throws PythonError with the
  // TypeError that Python itself would raise.  (Inlined: a call would cost a tenth of an export.)
  [[gnu::always_inline]] std::array<PyObject*, Count> read(const Call& call,
                                                           PyObject* missing = nullptr) const {
    std::array<PyObject*, Count> values;
    values.fill(missing);
    const auto given = static_cast<std::size_t>(call.n_positional);
    if (given > positional) {
      fail(Error::Kind::type, function, "() takes at most ", positional, " positional argument",
           positional == 1 ? "" : "s", " (", given, " given)", hint);
    }
    std::copy_n(call.args, given, values.begin());
    const Py_ssize_t n_keywords = call.keyword_names ? PyTuple_GET_SIZE(call.keyword_names) : 0;
    for (Py_ssize_t i = 0; i < n_keywords; ++i) {
      PyObject* const keyword = PyTuple_GET_ITEM(call.keyword_names, i);
      auto place = std::find(names.begin(), names.end(), keyword);  // most are interned
      if (place == names.end()) {
        place = std::find_if(names.begin(), names.end(), [keyword](PyObject* name) {
          return PyUnicode_Compare(name, keyword) == 0;
        });
      }
      const auto index = static_cast<std::size_t>(place - names.begin());
      const bool is_known = index >= positional_only && index < Count;
      if (!is_known || values[index] != missing) {
        PyErr_Format(PyExc_TypeError,
                     is_known ? "%s() got multiple values for argument '%U'"
                              : "%s() got an unexpected keyword argument '%U'",
                     function, keyword);
        throw PythonError();
      }
      values[index] = call.args[call.n_positional + i];
    }
    for (std::size_t i = 0; i < required; ++i) {
      if (values[i] != missing) continue;
      PyErr_Format(PyExc_TypeError, "%s() missing 1 required positional argument: '%U'", function,
                   names[i]);
      throw PythonError();
    }
    return values;
  }
};

PyObject* or_none(PyObject* value) { return value ? value : Py_None; }

PyObject* read_copy(PyObject* copy) {
  if (!copy || copy == Py_None) return Py_None;
  if (PyBool_Check(copy)) return copy;
  PyErr_Format(PyExc_TypeError, "copy is %R; it must be True, False or None", copy);
  throw PythonError();
}

// ---- from_dlpack and as_tensor ------------------------------------------------------------------

// The implementation of from_dlpack and as_tensor.
template <bool dlpack_only>
PyObject* import_one(PyObject*, const Call& call) {
  ImportRequest request{dlpack_only};
  if (call.n_positional == 1 && !call.keyword_names) return import_object(call.args[0], request);
  if constexpr (dlpack_only) {
    static const Signature<3> signature{"from_dlpack", interned("x", "device", "copy"), 1, 1, 1};
    const auto [x, device, copy] = signature.read(call);
    request.device = or_none(device);
    request.copy = read_copy(copy);
    return import_object(x, request);
  } else {
    static const Signature<4> signature{"as_tensor", interned("obj", "device", "copy", "usm_type"),
                                        1, 1, 1};
    const auto [x, device, copy, usm_type] = signature.read(call);
    request.device = or_none(device);
    request.copy = read_copy(copy);
    request.usm_type = or_none(usm_type);
    return import_object(x, request);
  }
}

// The memory in its place, by any protocol or only by DLPack.  For the Python side.
PyObject* find_memory(PyObject*, const Call& call) {
  static const Signature<3> signature{"find_memory", interned("x", "copy", "dlpack_only"), 1, 1, 1};
  const auto [x, copy, dlpack_only] = signature.read(call);
  ImportRequest request{dlpack_only == Py_True};
  request.in_place = true;
  if (copy == Py_False) request.copy = Py_False;
  return import_object(x, request);
}

// ---- exchange and explain -----------------------------------------------------------------------

ExchangeRequest read_exchange(const std::array<PyObject*, 6>& values) {
  PyObject* const consumer = values[1] ? values[1] : Py_None;
  PyObject* const host_copy = values[3] ? values[3] : Py_True;
  PyObject* const copy = read_copy(values[2]);
  if (PyBool_Check(host_copy)) {
    return {consumer, copy, host_copy, or_none(values[4]), or_none(values[5])};
  }
  PyErr_Format(PyExc_TypeError, "host_copy is %R; it must be True or False", host_copy);
  throw PythonError();
}

PyObject* exchange_one(PyObject*, const Call& call) {
  static const Signature<6> signature{
      "exchange", interned("x", "consumer", "copy", "host_copy", "device", "usm_type"), 2, 2, 2};
  const ExchangeRequest request = read_exchange(signature.read(call));
  if (request.consumer == Py_None) {
    fail(Error::Kind::type,
         "consumer is None; pass a module with from_dlpack, a callable that takes one argument, "
         "or a device");
  }
  return exchange(call.args[0], request);
}

// The decision that exchange would carry out, for `explain`.
PyObject* decide_one(PyObject*, const Call& call) {
  static const Signature<6> signature{
      "decide_exchange", interned("x", "consumer", "copy", "host_copy", "device", "usm_type"), 6, 6,
      6};
  const Decided decided = decide_exchange(call.args[0], read_exchange(signature.read(call)));
  return Py_NewRef(decided.decision->object.get());
}

// ---- host_view and to_numpy ---------------------------------------------------------------------

PyObject* host_view(PyObject*, const Call& call) {
  static const Signature<2> signature{"host_view", interned("x", "copy"), 1, 1, 1};
  auto [x, copy] = signature.read(call);
  copy = read_copy(copy);
  // Only a Tensor is viewed here.  Python takes all else: a host view is returned as it is, or
  // copied.
  if (reinterpret_cast<PyObject*>(Py_TYPE(x)) == hooks.tensor_class && !hooks.trace) {
    const Tensor& tensor = tensor_of(x);
    if (route_of(tensor, Destination::host, copy_of(copy)) == Route::host_view) {
      return wrap_tensor(as_host_view(tensor), base_of(x),
                         reinterpret_cast<PyTypeObject*>(hooks.host_view_class));
    }
  }
  return PyObject_CallFunctionObjArgs(hooks.continue_host_view, x, copy, nullptr);
}

PyObject* to_numpy(PyObject* self, const Call& call) {
  static const Signature<2> signature{"to_numpy", interned("copy", "wait"), 0, 1, 0};
  const auto values = signature.read(call);
  PyObject* const copy = read_copy(values[0]);
  PyObject* const wait = values[1] ? values[1] : Py_True;
  const Tensor& tensor = tensor_of(self);
  Limits limits;
  limits.any_strides = true;
  const Route route =
      wait == Py_True ? route_of(tensor, Destination::host, copy_of(copy), limits) : Route::refuse;
  notice_released_queue(tensor.memory);
  if (route == Route::host_view) {
    tensor.memory->wait_for_work();
    return ndarray_over(self);
  }
  if (route == Route::host_copy) {
    const PyRef host(wrap_tensor(copy_to_host(tensor)));
    return host ? ndarray_over(host.get()) : nullptr;
  }
  return PyObject_CallFunctionObjArgs(hooks.continue_to_numpy, self, copy, wait, nullptr);
}

PyObject* to_device(PyObject* self, const Call& call) {
  static const Signature<4> signature{"to_device", interned("device", "stream", "copy", "usm_type"),
                                      1, 1, 1};
  auto [device, stream, copy, usm_type] = signature.read(call);
  stream = or_none(stream);
  copy = read_copy(copy);
  usm_type = or_none(usm_type);
  // None is the default device, and not that of the memory.
  if (device != Py_None && stream == Py_None && !hooks.trace) {
    PyRef view =
        view_in_place(self, {/*dlpack_only=*/false, /*in_place=*/false, copy, device, usm_type});
    if (view) return view.release();
  }
  return PyObject_CallFunctionObjArgs(hooks.continue_to_device, self, device, stream, copy,
                                      usm_type, nullptr);
}

// ---- __dlpack__ ---------------------------------------------------------------------------------

PyObject* dlpack_device(PyObject* self, PyObject*) {
  const DLDevice device = tensor_of(self).dl_device();
  return Py_BuildValue("(ii)", static_cast<int>(device.device_type), device.device_id);
}

// Whether a consumer with this max_version reads the versioned struct.  nullopt: Python reads or
// refuses a value of an unusual form.
std::optional<bool> reads_versioned(PyObject* version) {
  if (version == Py_None) return false;
  if (!PyTuple_CheckExact(version) || PyTuple_GET_SIZE(version) != 2) return std::nullopt;
  PyObject* major = PyTuple_GET_ITEM(version, 0);
  if (!PyLong_CheckExact(major) || !PyLong_CheckExact(PyTuple_GET_ITEM(version, 1))) {
    return std::nullopt;
  }
  int overflow = 0;
  const long value = PyLong_AsLongAndOverflow(major, &overflow);
  return overflow > 0 || value >= 1;
}

// Exports a view for a consumer at the device of __dlpack_device__. Python makes all other exports.
PyObject* export_view(PyObject* self, PyObject* stream, PyObject* max_version, PyObject* dl_device,
                      PyObject* copy) {
  const Tensor& tensor = tensor_of(self);
  const std::optional<bool> versioned = reads_versioned(max_version);
  // CPython has one object for each small int.  Python's side reads other forms of -1.
  static PyObject* const no_sync = PyLong_FromLong(-1);
  const bool synchronise = stream == Py_None;
  Queue consumer;  // that of the consumer, if `stream` is a dpctl.SyclQueue
  if (!hooks.trace && !synchronise && stream != no_sync) consumer = queue_of_dpctl(stream);
  const bool is_read_here = !hooks.trace && dl_device == Py_None && versioned.has_value() &&
                            (copy == Py_None || PyBool_Check(copy)) &&
                            (synchronise || ((stream == no_sync || consumer) && !tensor.on_host));
  if (is_read_here) {
    Limits limits;
    limits.versioned = *versioned;
    const Route route = route_of(tensor, Destination::announced, copy_of(copy), limits);
    if (route == Route::view || route == Route::host_view) {
      notice_released_queue(tensor.memory);
      if (synchronise) tensor.memory->wait_for_work();
      if (consumer) order_after(consumer, tensor.memory);
      ExportOptions options{tensor.dl_device()};
      if (consumer) options.queue = &consumer;
      return make_capsule(tensor, *versioned, std::move(options));
    }
  }
  return PyObject_CallFunctionObjArgs(hooks.continue_export, self, stream, max_version, dl_device,
                                      copy, nullptr);
}

PyObject* dlpack(PyObject* self, const Call& call) {
  static const Signature<4> signature{
      "__dlpack__", interned("stream", "max_version", "dl_device", "copy"), 0, 0, 0};
  const auto [stream, max_version, dl_device, copy] = signature.read(call, Py_None);
  return export_view(self, stream, max_version, dl_device, copy);
}

// ---- empty and zeros ----------------------------------------------------------------------------

// The number of axes in a shape of plain ints; -1: the shape has another form, which Python reads.
int read_shape(PyObject* object, std::int64_t* shape) {
  const bool is_int = PyLong_CheckExact(object);
  if (!is_int && !PyTuple_CheckExact(object)) return -1;
  const Py_ssize_t ndim = is_int ? 1 : PyTuple_GET_SIZE(object);
  if (ndim > max_ndim) return -1;
  for (Py_ssize_t i = 0; i < ndim; ++i) {
    PyObject* const item = is_int ? object : PyTuple_GET_ITEM(object, i);
    int overflow;
    shape[i] = PyLong_CheckExact(item) ? PyLong_AsLongLongAndOverflow(item, &overflow) : -1;
    if (shape[i] < 0) return -1;  // also if it overflows
  }
  return static_cast<int>(ndim);
}

// The implementation of empty and zeros.
template <bool zero>
PyObject* make_new(PyObject*, const Call& call) {
  constexpr const char* hint =
      "; pass the shape as one tuple, such as (2, 3, 4), and usm_type, device and order by keyword";
  static const Signature<5> signature{zero ? "zeros" : "empty",
                                      interned("shape", "dtype", "usm_type", "device", "order"),
                                      0,
                                      2,
                                      1,
                                      hint};
  static PyObject* const float32 = intern("float32");
  static PyObject* const device_usm = intern("device");
  static PyObject* const c_order = intern("C");
  auto [shape, dtype, usm_type, device, order] = signature.read(call);
  if (!dtype || dtype == Py_None) dtype = float32;
  if (!usm_type) usm_type = device_usm;
  if (!device) device = Py_None;
  if (!order) order = c_order;
  // Python reads or refuses arguments of unusual forms.
  std::array<std::int64_t, max_ndim> lengths;
  const int ndim = read_shape(shape, lengths.data());
  const long index = look_up(hooks.dtype_indices, dtype);
  const long kind = usm_type == device_usm ? 0 : look_up(hooks.usm_kinds, usm_type);
  const long id = device == Py_None ? 0 : look_up(hooks.device_ids, device);
  if (ndim < 0 || index < 0 || kind < 0 || id < 0 || order != c_order) {
    return PyObject_CallFunctionObjArgs(hooks.continue_new_tensor, shape, dtype, usm_type, device,
                                        order, zero ? Py_True : Py_False, nullptr);
  }
  const Entry& entry = device == Py_None ? default_entry() : entry_at(static_cast<int>(id));
  const DType& element = dtypes[static_cast<std::size_t>(index)];
  Tensor tensor = make_tensor(entry, static_cast<UsmKind>(kind), element,
                              read_layout(ndim, lengths.data(), Order::c, element.itemsize()));
  if (zero) fill_zero(tensor);
  return wrap_tensor(std::move(tensor));
}

// ---- the tables of functions and methods --------------------------------------------------------

// Makes the pending exception keep the arguments alive, which only the caller's stack holds.
//
// Otherwise the caller would drop the arguments while the exception is pending, and the destructor
// of a capsule may be Python (ctypes), which replaces a pending exception or loses it.  A function
// in Python does not have this problem, because the traceback keeps its frame.
void keep_arguments(const Call& call) noexcept {
  const auto begin = call.args, end = begin + call.n_positional;
  if (std::none_of(begin, end, [](PyObject* argument) { return Py_REFCNT(argument) == 1; })) return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  hang_at_thread_end([&] { PyErr_NormalizeException(&type, &value, &traceback); });
  PyRef kept(PyTuple_New(call.n_positional));
  for (Py_ssize_t i = 0; kept && i < call.n_positional; ++i) {
    PyTuple_SET_ITEM(kept.get(), i, Py_NewRef(begin[i]));
  }
  if (!kept || PyObject_SetAttrString(value, "_arguments", kept.get()) < 0) PyErr_Clear();
  kept.reset();
  PyErr_Restore(type, value, traceback);
}

template <PyObject* (*function)(PyObject*, const Call&)>
PyObject* entry_point(PyObject* self, PyObject* const* args, Py_ssize_t n_positional,
                      PyObject* keyword_names) {
  const Call call{args, n_positional, keyword_names};
  PyObject* const result = guarded<PyObject*>(nullptr, [&] { return function(self, call); });
  if (!result) keep_arguments(call);
  return result;
}

template <PyObject* (*function)(PyObject*, const Call&)>
PyMethodDef define(const char* name, const char* doc) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(entry_point<function>)),
          METH_FASTCALL | METH_KEYWORDS, doc};
}

}  // namespace

PyMethodDef* public_functions() {
  static PyMethodDef functions[] = {
      define<import_one<true>>("from_dlpack", docs::from_dlpack),
      define<import_one<false>>("as_tensor", docs::as_tensor),
      define<host_view>("host_view", docs::host_view),
      define<make_new<false>>("empty", docs::empty),
      define<make_new<true>>("zeros", docs::zeros),
      define<exchange_one>("exchange", docs::exchange),
      {nullptr, nullptr, 0, nullptr},
  };
  return functions;
}

PyMethodDef* private_functions() {
  static PyMethodDef functions[] = {
      define<find_memory>("find_memory",
                          "find_memory(x, /, *, copy=None, dlpack_only=False)\n--\n\nThe memory of "
                          "any object, where it "
                          "is, by the best protocol that it supports, or only by DLPack."),
      define<decide_one>(
          "decide_exchange",
          "decide_exchange(x, consumer, copy, host_copy, device, usm_type, /)\n--\n\nThe decision "
          "that `exchange` would carry out."),
      {nullptr, nullptr, 0, nullptr},
  };
  return functions;
}

PyMethodDef* tensor_methods() {
  static PyMethodDef methods[] = {
      define<to_numpy>("to_numpy", docs::to_numpy),
      define<to_device>("to_device", docs::to_device),
      define<dlpack>("__dlpack__", docs::dlpack),
      {"__dlpack_device__", dlpack_device, METH_NOARGS,
       "__dlpack_device__($self, /)\n--\n\nThe pair (device type, device id) of DLPack."},
      {nullptr, nullptr, 0, nullptr},
  };
  return methods;
}

}  // namespace sycl_ext
