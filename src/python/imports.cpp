// SPDX-License-Identifier: Apache-2.0
#include "python/imports.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "python/conversation.hpp"
#include "python/exchange_api.hpp"
#include "python/numpy_bridge.hpp"
#include "python/producer_class.hpp"
#include "python/routes.hpp"

namespace sycl_ext {

namespace {

using Protocols = ImportRequest::Protocols;

PyObject* intern(const char* text) { return PyUnicode_InternFromString(text); }

// Whether memory may stay on its entry, and host memory go to the default device.
bool is_plain(const ImportRequest& request) {
  return !request.in_place && !request.placement && request.copy == Py_None && !hooks().trace;
}

// What a weakref.proxy stands for, which a view keeps alive; else the object itself.
PyRef without_proxy(PyObject* x) {
  if (PyWeakref_CheckProxy(x)) {
    static PyObject* const method = intern("__repr__");  // bound to the referent
    static PyObject* const self = intern("__self__");
    const PyRef bound(PyObject_GetAttr(x, method));
    PyRef referent(bound ? PyObject_GetAttr(bound.get(), self) : nullptr);
    if (!referent) throw PythonError();
    return referent;
  }
  Py_INCREF(x);
  return PyRef(x);
}

// Python's answer to a question about the object; never nullptr.
PyRef ask_python(PyObject* function, PyObject* x, PyObject* more = nullptr) {
  PyRef answer(in_python([&] { return PyObject_CallFunctionObjArgs(function, x, more, nullptr); }));
  if (!answer) throw PythonError();
  return answer;
}

// An attribute that is not None; empty: there is none.
PyRef get_attribute(PyObject* x, PyObject* name) {
  if (Py_TYPE(x) == ndarray_type() && !find_in_class(Py_TYPE(x), name)) return nullptr;
  PyRef value(in_python([&] { return PyObject_GetAttr(x, name); }));
  if (!value) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw PythonError();
    PyErr_Clear();
  } else if (value.get() == Py_None) {
    value.reset();
  }
  return value;
}

// Brings the tensor to where it is wanted.  `copied`: its producer has made it for us alone.
PyObject* settle(PyRef tensor, bool copied, const ImportRequest& request) {
  if (!tensor) return nullptr;
  const Tensor& found = tensor_of(tensor.get());
  if (!found.on_host) {
    // Host memory that the default device reads, as USM or as "system" memory: a view either way.
    if (!found.memory->is_owner_known() && is_plain(request)) return tensor.release();
    if (request.in_place) return tensor.release();
    if (!request.placement && !hooks().trace &&
        route_of(found, {Wanted::own_entry, request.copy}) == Route::view) {
      return tensor.release();
    }
  }
  if (request.in_place) return ask_python(hooks().as_usm, tensor.get()).release();
  PyObject* const copy = copied && request.copy == Py_True ? Py_None : request.copy;
  return in_python([&] {
    return PyObject_CallFunctionObjArgs(
        hooks().move, tensor.get(), request.placement ? request.placement : Py_None, copy, nullptr);
  });
}

PyObject* settle(Imported&& imported, const ImportRequest& request) {
  const bool copied = imported.copied;
  return settle(PyRef(wrap_tensor(std::move(imported.tensor), nullptr)), copied, request);
}

PyObject* import_tensor(PyObject* x, const ImportRequest& request) {
  if (request.in_place) {  // makes no copy that a host view has yet to make
    Py_INCREF(x);
    return settle(PyRef(x), false, request);
  }
  const Tensor& tensor = tensor_of(x);
  // A host view of USM is the USM it is.
  const bool is_usm_on_host = tensor.on_host && tensor.memory->entry();
  return settle(PyRef(is_usm_on_host ? wrap_tensor(as_usm(tensor), base_of(x))
                                     : wrap_tensor(tensor, base_of(x))),
                false, request);
}

// NumPy's own capsule hides a reference to the array from the garbage collector, which matters for
// an instance of a subclass: it may have attributes, and so be part of a cycle.
bool is_better_read_by_us(PyObject* x, const ImportRequest& request) {
  static PyObject* const method = intern("__dlpack__");
  if (!is_ndarray_subclass(x)) return false;
  return request.protocols == Protocols::any ||
         find_in_class(Py_TYPE(x), method) == find_in_class(ndarray_type(), method);
}

// A call of a producer's methods.  They may be made with us, of what the producer describes, or
// another one of its class (`def __dlpack__(self, **keywords): return
// as_tensor(self.reshape(-1)).__dlpack__(**keywords)`).
class Question {
 public:
  explicit Question(PyTypeObject* type) : asked_(type, PyThread_get_thread_ident()) {
    open().push_back(asked_);
  }
  ~Question() {
    std::vector<Asked>& all = open();  // not always the last one: greenlets take turns in a thread
    all.erase(std::find(all.begin(), all.end(), asked_));
  }
  Question(const Question&) = delete;
  Question& operator=(const Question&) = delete;

  static bool is_open(PyTypeObject* type) {
    const std::vector<Asked>& all = open();
    return std::find(all.begin(), all.end(), Asked(type, PyThread_get_thread_ident())) != all.end();
  }

 private:
  using Asked = std::pair<PyTypeObject*, unsigned long>;  // the class, and the thread that asks

  static std::vector<Asked>& open() {                 // under the GIL
    static auto* const all = new std::vector<Asked>;  // never destroyed
    return *all;
  }

  const Asked asked_;
};

bool waits_in_description(PyObject* x) {
  return traits_of(Py_TYPE(x)) & Traits::waits_in_description;
}

// Whether DLPack is better asked than __sycl_usm_array_interface__, although that says more.
bool is_better_not_described(PyObject* x) {
  return waits_in_description(x) && !Question::is_open(Py_TYPE(x));
}

// What x.flags.writable says; std::nullopt: there is no such thing.
std::optional<bool> is_writable(PyObject* x) {
  static PyObject* const flags_name = intern("flags");
  static PyObject* const writable_name = intern("writable");
  const PyRef flags = get_attribute(x, flags_name);
  const PyRef writable = flags ? get_attribute(flags.get(), writable_name) : nullptr;
  if (!writable) return std::nullopt;
  const int truth = hang_at_thread_end([&] { return PyObject_IsTrue(writable.get()); });
  if (truth < 0) throw PythonError();
  return truth != 0;
}

PyRef as_writable(PyObject* tensor) {
  Tensor writable = tensor_of(tensor);
  writable.readonly = false;
  return PyRef(wrap_tensor(std::move(writable), base_of(tensor)));
}

// The memory that an object describes in __sycl_usm_array_interface__; empty: it does not.
PyRef import_described(PyObject* x) {
  static PyObject* const name = intern("__sycl_usm_array_interface__");
  const PyRef described = get_attribute(x, name);
  return described ? ask_python(hooks().from_usm_interface, x, described.get()) : nullptr;
}

PyObject* import_through_protocol(PyObject* x, const ImportRequest& request,
                                  const ImportOptions& options) {
  const bool any = request.protocols == Protocols::any;
  const bool may_be_described = any && is_better_not_described(x);
  std::optional<Question> question;
  if (may_be_described) question.emplace(Py_TYPE(x));
  PyRef refusal;
  const std::optional<DLDevice> device = announced_device(x, &refusal);
  Answer answer;
  if (device) {
    ViewRequest wanted;
    wanted.never_copy = request.copy == Py_False;
    wanted.settle = options.settle;
    wanted.host_reader = options.host_reader;
    wanted.base = any && (is_ndarray(x) || may_be_described) ? x : nullptr;
    answer = ask_view(x, *device, wanted);
    refusal.swap(answer.refusal);
  }
  if (answer.tensor) {
    // dpnp says of every array of 0 dimensions that it is read-only.
    const Tensor& tensor = tensor_of(answer.tensor.get());
    const bool may_be_wrong = tensor.readonly && tensor.layout.ndim() == 0;
    if ((any && !may_be_described) || !may_be_wrong) {
      return settle(std::move(answer.tensor), false, request);
    }
    if (waits_in_description(x)) {
      if (const std::optional<bool> writable = is_writable(x)) {
        if (*writable) answer.tensor = as_writable(answer.tensor.get());
        return settle(std::move(answer.tensor), false, request);
      }
    }
  }
  if (may_be_described) {
    question.reset();
    if (PyRef described = import_described(x)) return settle(std::move(described), false, request);
  }
  const PyRef pair(
      device ? Py_BuildValue("(ii)", static_cast<int>(device->device_type), device->device_id)
             : nullptr);
  if (device && !pair) throw PythonError();
  const auto or_none = [](PyObject* object) { return object ? object : Py_None; };
  return in_python([&] {
    return PyObject_CallFunctionObjArgs(hooks().import_rest, x, or_none(pair.get()),
                                        or_none(answer.tensor.get()), or_none(refusal.get()),
                                        or_none(request.placement), request.copy,
                                        request.in_place ? Py_True : Py_False, nullptr);
  });
}

}  // namespace

PyObject* import_object(PyObject* object, const ImportRequest& request) {
  static PyObject* const dlpack = intern("__dlpack__");
  if (is_tensor(object)) return import_tensor(object, request);
  const PyRef strong = without_proxy(object);
  PyObject* const x = strong.get();
  if (x != object && is_tensor(x)) return import_tensor(x, request);
  const bool plain = is_plain(request);
  const ImportOptions options{nullptr, plain, nullptr, plain ? reader_of_host_memory() : nullptr};
  if (PyCapsule_CheckExact(x)) return settle(consume_capsule(x, options), request);
  if (request.protocols == Protocols::any && !is_better_not_described(x)) {
    if (PyRef described = import_described(x)) return settle(std::move(described), false, request);
  }
  if (is_better_read_by_us(x, request)) {
    return settle(ask_python(hooks().from_ndarray, x), false, request);
  }
  if (std::optional<Imported> imported = import_through_api(x, options)) {
    // The Python protocol can forbid a copy.
    const bool refused = imported->copied && request.copy == Py_False;
    if (!refused) return settle(*std::move(imported), request);
  }
  if (request.protocols == Protocols::dlpack || producer_class(Py_TYPE(x)).has_dlpack ||
      get_attribute(x, dlpack)) {
    return import_through_protocol(x, request, options);
  }
  return settle(ask_python(hooks().from_buffer, x), false, request);
}

}  // namespace sycl_ext
