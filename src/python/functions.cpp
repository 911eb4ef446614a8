// SPDX-License-Identifier: Apache-2.0
#include "python/functions.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "python/docstrings.hpp"
#include "python/imports.hpp"
#include "python/numpy_bridge.hpp"
#include "python/routes.hpp"
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

// How a function is called: `names` in order, of which the first `positional_only` have no keyword,
// the first `positional` may come without one, and the first `required` have no default.
template <std::size_t Count>
class Signature {
 public:
  using Values = std::array<PyObject*, Count>;

  // `hint`: what to do when there are too many positional arguments.
  Signature(const char* name, const std::array<const char*, Count>& names,
            std::size_t positional_only, std::size_t positional, std::size_t required,
            const char* hint = "")
      : name(name),
        names(names),
        positional_only(positional_only),
        positional(positional),
        required(required),
        hint(hint) {
    std::transform(names.begin(), names.end(), interned.begin(), intern);
  }

  // The values, nullptr where there is none.  False with the TypeError set that Python raises.
  bool read(const Call& call, Values* values) const {
    values->fill(nullptr);
    const auto given = static_cast<std::size_t>(call.n_positional);
    if (given > positional) {
      const char* const were = given == 1 ? "was" : "were";
      if (required < positional) {
        PyErr_Format(PyExc_TypeError,
                     "%s() takes from %zu to %zu positional arguments but %zu %s given%s", name,
                     required, positional, given, were, hint);
      } else {
        PyErr_Format(PyExc_TypeError, "%s() takes %zu positional argument%s but %zu %s given", name,
                     positional, positional == 1 ? "" : "s", given, were);
      }
      return false;
    }
    std::copy_n(call.args, given, values->begin());
    const Py_ssize_t n_keywords = call.keyword_names ? PyTuple_GET_SIZE(call.keyword_names) : 0;
    for (Py_ssize_t i = 0; i < n_keywords; ++i) {
      PyObject* const keyword = PyTuple_GET_ITEM(call.keyword_names, i);
      auto found = std::find(interned.begin(), interned.end(), keyword);  // most are interned
      if (found == interned.end()) {
        found = std::find_if(interned.begin(), interned.end(), [keyword](PyObject* one) {
          return PyUnicode_Compare(one, keyword) == 0;
        });
      }
      const auto index = static_cast<std::size_t>(found - interned.begin());
      if (index < positional_only) {
        PyErr_Format(PyExc_TypeError,
                     "%s() got some positional-only arguments passed as keyword arguments: '%U'",
                     name, keyword);
        return false;
      }
      if (index == Count) {
        PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", name,
                     keyword);
        return false;
      }
      if ((*values)[index]) {
        PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", name, keyword);
        return false;
      }
      (*values)[index] = call.args[call.n_positional + i];
    }
    for (std::size_t i = 0; i < required; ++i) {
      if ((*values)[i]) continue;
      PyErr_Format(PyExc_TypeError, "%s() missing 1 required positional argument: '%s'", name,
                   names[i]);
      return false;
    }
    return true;
  }

 private:
  const char* const name;
  const std::array<const char*, Count> names;
  const std::size_t positional_only, positional, required;
  const char* const hint;
  std::array<PyObject*, Count> interned;
};

// The value of `copy`; nullptr with a TypeError set.
PyObject* read_copy(PyObject* copy) {
  if (!copy || copy == Py_None) return Py_None;
  if (PyBool_Check(copy)) return copy;
  PyErr_Format(PyExc_TypeError, "copy is %R; it must be True, False or None", copy);
  return nullptr;
}

// ---- from_dlpack and as_tensor ------------------------------------------------------------------

PyObject* import_with(const Signature<3>& signature, const Call& call, bool dlpack_only) {
  ImportRequest request{dlpack_only};
  if (call.n_positional == 1 && !call.keyword_names) return import_object(call.args[0], request);
  std::array<PyObject*, 3> values;
  if (!signature.read(call, &values)) return nullptr;
  request.copy = read_copy(values[2]);
  if (!request.copy) return nullptr;
  if (values[1]) request.device = values[1];
  return import_object(values[0], request);
}

PyObject* from_dlpack(const Call& call) {
  static const Signature<3> signature("from_dlpack", {"x", "device", "copy"}, 1, 1, 1);
  return import_with(signature, call, true);
}

PyObject* as_tensor(const Call& call) {
  static const Signature<3> signature("as_tensor", {"obj", "device", "copy"}, 1, 1, 1);
  return import_with(signature, call, false);
}

// Memory by any protocol, or by DLPack alone, where it is (for Python's side).
PyObject* find_memory(const Call& call) {
  static const Signature<3> signature("find_memory", {"x", "copy", "dlpack"}, 1, 3, 1);
  std::array<PyObject*, 3> values;
  if (!signature.read(call, &values)) return nullptr;
  return import_object(values[0], {values[2] == Py_True, /*in_place=*/true,
                                   values[1] == Py_False ? Py_False : Py_None});
}

// ---- host_view and to_numpy ---------------------------------------------------------------------

PyObject* host_view(const Call& call) {
  static const Signature<2> signature("host_view", {"x", "copy"}, 1, 1, 1);
  std::array<PyObject*, 2> values;
  if (!signature.read(call, &values)) return nullptr;
  const auto [x, given] = values;
  PyObject* const copy = read_copy(given);
  if (!copy) return nullptr;
  // A host view is its own host view, and may have a copy to make yet.
  const bool is_host_view = reinterpret_cast<PyObject*>(Py_TYPE(x)) == hooks().host_view_class;
  if (is_tensor(x) && !is_host_view && !hooks().trace) {
    const Tensor& tensor = tensor_of(x);
    if (route_of(tensor, {Wanted::host, copy}) == Route::host_view) {
      return wrap_tensor(as_host_view(tensor), base_of(x),
                         reinterpret_cast<PyTypeObject*>(hooks().host_view_class));
    }
  }
  return in_python(
      [&, x = x] { return PyObject_CallFunctionObjArgs(hooks().host_view, x, copy, nullptr); });
}

PyObject* to_numpy(PyObject* self, const Call& call) {
  static const Signature<2> signature("to_numpy", {"copy", "wait"}, 0, 1, 0);
  std::array<PyObject*, 2> values;
  if (!signature.read(call, &values)) return nullptr;
  PyObject* const copy = read_copy(values[0]);
  if (!copy) return nullptr;
  if (values[1] && values[1] != Py_True) {
    return in_python([&] {
      return PyObject_CallFunctionObjArgs(hooks().begin_to_numpy, self, copy, values[1], nullptr);
    });
  }
  const Tensor& tensor = tensor_of(self);
  switch (route_of(tensor, {Wanted::host, copy, true, true})) {
    case Route::host_view:
      wait_for_pending_work(tensor);
      return ndarray_over(self);
    case Route::host_copy: {
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
    default:
      return in_python(
          [&] { return PyObject_CallFunctionObjArgs(hooks().refuse_host, self, copy, nullptr); });
  }
}

// ---- empty and zeros ----------------------------------------------------------------------------

// A shape of plain ints; false: Python reads it.
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
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) throw PythonError();
    PyErr_Clear();  // a key that cannot be hashed
    return -1;
  }
  return PyLong_AsLong(value);
}

// The place of a kind in UsmKind; -1: none, or in no usual form.
int kind_named(PyObject* usm_type) {
  static const std::array<PyObject*, 3> names{intern("device"), intern("shared"), intern("host")};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (usm_type == names[i] ||
        (PyUnicode_CheckExact(usm_type) && PyUnicode_Compare(usm_type, names[i]) == 0)) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

PyObject* make_new(const Signature<5>& signature, const Call& call, bool zero) {
  static PyObject* const float32 = intern("float32");
  static PyObject* const device_kind = intern("device");
  static PyObject* const c_order = intern("C");
  std::array<PyObject*, 5> values;
  if (!signature.read(call, &values)) return nullptr;
  auto [shape, dtype, usm_type, device, order] = values;
  if (!dtype) dtype = float32;
  if (!usm_type) usm_type = device_kind;
  if (!device) device = Py_None;
  if (!order) order = c_order;
  // What is not in one of the usual forms is read, or refused, by Python.
  std::array<std::int64_t, max_ndim> lengths;
  int ndim;
  const long index = look_up(hooks().dtype_indices, dtype);
  const int kind = kind_named(usm_type);
  const long id = device == Py_None ? 0 : look_up(hooks().device_ids, device);
  if (order != c_order || index < 0 || kind < 0 || id < 0 || !read_shape(shape, &lengths, &ndim)) {
    return in_python([&, shape = shape, device = device] {
      return PyObject_CallFunctionObjArgs(hooks().new_tensor, shape, dtype, usm_type, device, order,
                                          zero ? Py_True : Py_False, nullptr);
    });
  }
  const Entry& entry = device == Py_None ? default_entry() : entry_at(static_cast<int>(id));
  const DType& element = dtypes[static_cast<std::size_t>(index)];
  const Layout layout = compact_layout(ndim, lengths.data(), Order::c, element.itemsize());
  std::optional<ReleasedGil> released;
  if (zero ||
      static_cast<std::size_t>(element_count(layout)) * element.itemsize() >= gil_threshold) {
    released.emplace();
  }
  Tensor tensor = make_tensor(entry, static_cast<UsmKind>(kind), element, layout);
  if (zero) fill_zero(tensor);
  released.reset();
  return wrap_tensor(std::move(tensor), nullptr);
}

constexpr const char* shape_hint = "; the shape is one argument, a tuple such as (2, 3, 4)";

PyObject* empty(const Call& call) {
  static const Signature<5> signature("empty", {"shape", "dtype", "usm_type", "device", "order"}, 0,
                                      2, 1, shape_hint);
  return make_new(signature, call, false);
}

PyObject* zeros(const Call& call) {
  static const Signature<5> signature("zeros", {"shape", "dtype", "usm_type", "device", "order"}, 0,
                                      2, 1, shape_hint);
  return make_new(signature, call, true);
}

// ---- as Python sees them ------------------------------------------------------------------------

template <PyObject* (*function)(const Call&)>
PyObject* entry_point(PyObject*, PyObject* const* args, Py_ssize_t n_positional,
                      PyObject* keyword_names) {
  return guarded<PyObject*>(nullptr, [&] { return function({args, n_positional, keyword_names}); });
}

PyObject* to_numpy_method(PyObject* self, PyObject* const* args, Py_ssize_t n_positional,
                          PyObject* keyword_names) {
  return guarded<PyObject*>(nullptr,
                            [&] { return to_numpy(self, {args, n_positional, keyword_names}); });
}

using FastFunction = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);

PyMethodDef define(const char* name, FastFunction function, const char* doc) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function)),
          METH_FASTCALL | METH_KEYWORDS, doc};
}

}  // namespace

int add_functions(PyObject* module) {
  static PyMethodDef functions[] = {
      define("from_dlpack", entry_point<from_dlpack>, docs::from_dlpack),
      define("as_tensor", entry_point<as_tensor>, docs::as_tensor),
      define("host_view", entry_point<host_view>, docs::host_view),
      define("empty", entry_point<empty>, docs::empty),
      define("zeros", entry_point<zeros>, docs::zeros),
      define("find_memory", entry_point<find_memory>,
             "find_memory(x, /, copy=None, dlpack=False)\n--\n\nThe memory of anything, where it "
             "is, by the best protocol that it offers, or by DLPack alone."),
      {nullptr, nullptr, 0, nullptr},
  };
  static PyMethodDef method = define("to_numpy", to_numpy_method, docs::to_numpy);
  const PyRef descriptor(PyDescr_NewMethod(tensor_base_type(), &method));
  if (!descriptor || PyModule_AddFunctions(module, functions) < 0) return -1;
  return PyObject_SetAttrString(reinterpret_cast<PyObject*>(tensor_base_type()), "to_numpy",
                                descriptor.get());
}

}  // namespace sycl_ext
