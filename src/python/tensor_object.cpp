// SPDX-License-Identifier: Apache-2.0
#include "python/tensor_object.hpp"

#include <array>
#include <type_traits>
#include <utility>

#include "python/deleters.hpp"

namespace sycl_ext {

namespace {

// Of all instances over one Memory, one is the representative, and the others hold a reference to
// it.  Only the representative shows the collector the Python object that owns the memory, so that
// each reference is counted once.
struct TensorObject {
  PyObject_HEAD PyObject* weakrefs;
  PyObject* base;
  PyObject* representative;  // nullptr: this instance is the representative
  const Tensor tensor;
  bool lends;  // whether other code has the memory as long as this instance lives
};

PyTypeObject* base_type = nullptr;

TensorObject* cast(PyObject* object) noexcept { return reinterpret_cast<TensorObject*>(object); }

// ---- life ---------------------------------------------------------------------------------------

PyObject* refuse_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyErr_Format(
      PyExc_TypeError,
      "%s cannot be instantiated; use sycl_ext.empty, zeros, from_dlpack, as_tensor or host_view",
      type->tp_name);
  return nullptr;
}

// The representative of a block, which is read and written with the GIL.
TensorObject* representative_of(const Allocation& block) noexcept {
  return static_cast<TensorObject*>(block.representative);
}
void set_representative(const Allocation& block, TensorObject* object) noexcept {
  block.representative = object;
}

// The Python object that owns the memory, if only the instances that this one represents keep it
// alive; nullptr: other holders keep it alive, or this instance is not the representative.  The
// collector asks twice in one pass; MemoryKeeper says why that is safe.
PyObject* visible_owner(const TensorObject* self) noexcept {
  const Memory& memory = self->tensor.memory;
  return self->representative || memory->use.keepers() > 0 ? nullptr : python_owner_of(memory);
}

// There is no tp_clear, as for a tuple.  The objects that an instance keeps alive are older than
// the instance, so every cycle goes through another object that was changed later, and the
// collector can clear that object.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(cast(self)->base);
  Py_VISIT(cast(self)->representative);
  Py_VISIT(visible_owner(cast(self)));
  return 0;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  if (type->tp_finalize &&
      hang_at_thread_end([self] { return PyObject_CallFinalizerFromDealloc(self); }) < 0) {
    return;  // the finalizer made a new reference
  }
  PyObject_GC_UnTrack(self);
  // The deleter of a producer may be Python code, which must not see a pending exception.
  const SavedException saved;
  TensorObject* object = cast(self);
  // Read first, because the following steps may run Python code that makes another instance over
  // the memory.
  PyObject* const representative = object->representative;
  if (!representative) set_representative(*object->tensor.memory, nullptr);  // no instance holds it
  if (object->weakrefs) hang_at_thread_end([self] { PyObject_ClearWeakRefs(self); });
  drop(object->base);
  {  // freeing a large block takes a while
    const Memory& memory = object->tensor.memory;
    const WithoutGil released(memory->use.has_one_handle() && memory->nbytes >= gil_threshold);
    if (object->lends) memory->use.give_back();
    object->tensor.~Tensor();
  }
  drop(representative);
  type->tp_free(self);
  Py_DECREF(type);
}

// ---- attributes ---------------------------------------------------------------------------------

PyObject* tuple_of(const std::int64_t* values, int count) {
  PyRef tuple(PyTuple_New(count));
  for (int i = 0; tuple && i < count; ++i) {
    PyObject* const value = PyLong_FromLongLong(values[i]);
    if (!value) return nullptr;
    PyTuple_SET_ITEM(tuple.get(), i, value);
  }
  return tuple.release();
}

PyObject* as_python(PyObject* object) noexcept { return object; }  // a new reference
PyObject* as_python(const char* text) noexcept { return intern(text); }
template <class Number>
PyObject* as_python(Number value) noexcept {
  return std::is_same_v<Number, bool> ? PyBool_FromLong(value) : PyLong_FromLongLong(value);
}

PyObject* exposed_address(const Tensor& tensor) {
  return guarded<PyObject*>(nullptr, [&] {
    if (!tensor.on_host) tensor.memory->expose();
    return PyLong_FromVoidPtr(tensor.data);
  });
}

// CPython's own error would name TensorBase, which is not public.
int refuse_to_set(PyObject* self, PyObject*, void* name) {
  PyErr_Format(PyExc_AttributeError,
               "attribute %s of a %s is not writable; reshape(), transpose(), indexing, copy() and "
               "to_device() return a new tensor",
               static_cast<const char*>(name), Py_TYPE(self)->tp_name);
  return -1;
}

// `value` is computed from the Tensor `t` of `self`.
#define ATTRIBUTE(name, value, doc)                         \
  {#name,                                                   \
   [](PyObject* self, void*) -> PyObject* {                 \
     [[maybe_unused]] const Tensor& t = cast(self)->tensor; \
     return as_python(value);                               \
   },                                                       \
   refuse_to_set, doc, const_cast<char*>(#name)}
PyGetSetDef getset[] = {
    ATTRIBUTE(shape, tuple_of(t.layout.shape(), t.layout.ndim()),
              "Lengths of the axes, in elements."),
    ATTRIBUTE(strides, tuple_of(t.layout.strides(), t.layout.ndim()),
              "Steps along the axes, in elements."),
    ATTRIBUTE(ndim, t.layout.ndim(), "Number of axes."),
    ATTRIBUTE(size, t.size(), "Number of elements."),
    ATTRIBUTE(itemsize, t.dtype->itemsize(), "Bytes of one element."),
    ATTRIBUTE(nbytes, t.nbytes(), "Bytes of all elements."),
    ATTRIBUTE(ptr, exposed_address(t), "Address of the first element."),
    ATTRIBUTE(entry_id, t.memory->entry ? as_python(t.memory->entry->id) : Py_NewRef(Py_None),
              "Entry of the device table, or None for the host."),
    ATTRIBUTE(usm_type, usm_kind_name(t.memory->kind), "'device', 'shared', 'host' or 'system'."),
    ATTRIBUTE(readonly, t.readonly, "Whether writing through this view is forbidden."),
    ATTRIBUTE(dtype, numpy_dtype_of(t), "The numpy.dtype of the elements."),
    ATTRIBUTE(dtype_name, t.dtype->name, "Name of the dtype."),
    ATTRIBUTE(host_accessible, t.host_accessible(), "Whether the host can read it."),
    ATTRIBUTE(is_host_copy, t.memory->is_host_copy(),
              "Whether it is a host copy that this package made."),
    ATTRIBUTE(reversed, has_negative_stride(t.layout), "Whether a stride is negative."),
    ATTRIBUTE(c_contiguous, is_contiguous(t.layout, Order::c), "Compact in C order."),
    ATTRIBUTE(f_contiguous, is_contiguous(t.layout, Order::f), "Compact in Fortran order."),
    ATTRIBUTE(base, Py_NewRef(cast(self)->base ? cast(self)->base : Py_None),
              "The object this is a view of, or None."),
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
#undef ATTRIBUTE

}  // namespace

template <class T>
PyObject* wrap_tensor(T&& tensor, PyObject* base, PyTypeObject* type) {
  if (!type) type = reinterpret_cast<PyTypeObject*>(hooks.tensor_class);
  if (!type) {
    PyErr_SetString(PyExc_RuntimeError, "the sycl_ext package has not been imported");
    return nullptr;
  }
  TensorObject* const object = PyObject_GC_New(TensorObject, type);
  if (!object) return nullptr;
  try {
    new (const_cast<Tensor*>(&object->tensor)) Tensor(std::forward<T>(tensor));
  } catch (...) {  // no memory to copy many axes
    type->tp_free(object);
    Py_DECREF(type);
    throw;
  }
  object->weakrefs = nullptr;
  object->lends = false;
  object->base = base == Py_None ? nullptr : Py_XNewRef(base);
  TensorObject* const representative = representative_of(*object->tensor.memory);
  object->representative = Py_XNewRef(reinterpret_cast<PyObject*>(representative));
  if (!representative) set_representative(*object->tensor.memory, object);
  PyObject_GC_Track(object);
  return reinterpret_cast<PyObject*>(object);
}
template PyObject* wrap_tensor(Tensor&&, PyObject*, PyTypeObject*);
template PyObject* wrap_tensor(const Tensor&, PyObject*, PyTypeObject*);

PyObject* wrap_loan(const Tensor& tensor) {
  tensor.memory->fetch_queues();
  PyObject* const loan = wrap_tensor(tensor);
  if (!loan) return nullptr;
  tensor.memory->use.lend();
  cast(loan)->lends = true;
  return loan;
}

PyTypeObject* make_tensor_base_type(const TensorSlots& outer) {
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("A typed, strided view of memory; the base of Tensor and "
                                    "HostView.")},
      {Py_tp_new, reinterpret_cast<void*>(refuse_new)},
      {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
      {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
      {Py_tp_getset, getset},
      {Py_tp_methods, outer.methods},
      {Py_bf_getbuffer, reinterpret_cast<void*>(outer.get_buffer)},
      {Py_bf_releasebuffer, reinterpret_cast<void*>(outer.release_buffer)},
      {0, nullptr},
  };
  static PyType_Spec spec = {"sycl_ext._core.TensorBase", sizeof(TensorObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};
  base_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (base_type) base_type->tp_weaklistoffset = offsetof(TensorObject, weakrefs);
  return base_type;
}

PyTypeObject* tensor_base_type() noexcept { return base_type; }

void end_directly(PyObject* type) noexcept {
  reinterpret_cast<PyTypeObject*>(type)->tp_dealloc = dealloc;
}

PyObject* base_of(PyObject* object) noexcept {
  return cast(object)->base ? cast(object)->base : object;
}

PyObject* python_owner_of(const Memory& memory) noexcept {
  const Allocation* block = &*memory;
  while (const Allocation* const kept = block->kept_block()) {
    if (kept->use.keepers() > 1 || representative_of(*kept)) return nullptr;
    block = kept;
  }
  return static_cast<PyObject*>(block->owner_released_by(release_python_object));
}

PyObject* numpy_dtype_of(const Tensor& tensor) {
  static std::array<PyObject*, dtypes.size()> cache{};
  PyObject*& entry = cache[static_cast<std::size_t>(tensor.dtype - dtypes.data())];
  if (!entry) entry = PyObject_CallFunction(hooks.numpy_dtype, "s", tensor.dtype->name);
  Py_XINCREF(entry);
  return entry;
}

void wait_without_signals(const Memory& memory) {
  if (memory->work(How::counters) == Work::none) return;
  const WithoutGil released;
  released_state = nullptr;  // as in a thread that handles no signals
  memory->wait_for_work(/*mark_reported=*/false);
}

bool is_tensor(PyObject* object) noexcept {
  const auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(object));
  return type == hooks.tensor_class || type == hooks.host_view_class ||
         (base_type && PyObject_TypeCheck(object, base_type));
}

const Tensor& tensor_of(PyObject* object) {
  if (!is_tensor(object)) {
    fail(Error::Kind::type, "a sycl_ext tensor is required, not an object of type ",
         Py_TYPE(object)->tp_name);
  }
  return cast(object)->tensor;
}

namespace {

// The class of the exception for a kind of error; before the package has passed its own, the base.
PyObject* error_class(Error::Kind kind) noexcept {
  switch (kind) {
    case Error::Kind::buffer:
      return PyExc_BufferError;
    case Error::Kind::copy_refused:
      return hooks.copy_refused_error ? hooks.copy_refused_error : PyExc_BufferError;
    case Error::Kind::type:
      return PyExc_TypeError;
    case Error::Kind::value:
      return PyExc_ValueError;
    case Error::Kind::index:
      return PyExc_IndexError;
    case Error::Kind::memory:
      return PyExc_MemoryError;
    case Error::Kind::runtime:
      break;
  }
  return hooks.sycl_error ? hooks.sycl_error : PyExc_RuntimeError;
}

}  // namespace

void set_python_error() noexcept {
  try {
    throw;
  } catch (const PythonError&) {  // the exception is set already
  } catch (...) {
    // Objects that were dropped on the way may have left an exception, for example the destructor
    // of a capsule.
    PyObject *type = nullptr, *left = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &left, &traceback);
    if (type) PyErr_NormalizeException(&type, &left, &traceback);
    const PyRef owned_type(type), owned_traceback(traceback);
    PyRef context(left);
    tell_exception([](Error::Kind kind, const char* text) {  // a path in it need not be UTF-8
      const auto length = static_cast<Py_ssize_t>(std::char_traits<char>::length(text));
      const PyRef message(PyUnicode_DecodeUTF8(text, length, "backslashreplace"));
      if (message) PyErr_SetObject(error_class(kind), message.get());
    });
    if (!context || !PyErr_Occurred()) return;
    PyErr_Fetch(&type, &left, &traceback);
    PyErr_NormalizeException(&type, &left, &traceback);
    PyException_SetContext(left, context.release());
    PyErr_Restore(type, left, traceback);
  }
}

}  // namespace sycl_ext
