// SPDX-License-Identifier: Apache-2.0
//
// sycl_ext for C++ extensions, without a binding library: `device_entry` is an entry of the device
// table, `usm_view<T>` is memory.  <sycl_ext/sycl_ext.hpp> adds the argument type for pybind11,
// <sycl_ext/nanobind.hpp> the one for nanobind.  docs/cpp_reference.md describes every name.
//
// An extension needs the SYCL headers and any C++17 compiler.  It links against libsycl, and not
// against sycl_ext.
#pragma once

#include <Python.h>
#include <sycl_ext/c_api.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <sycl/context.hpp>
#include <sycl/device.hpp>
#include <sycl/event.hpp>
#include <sycl/ext/oneapi/bfloat16.hpp>
#include <sycl/half_type.hpp>
#include <sycl/platform.hpp>
#include <sycl/properties/all_properties.hpp>
#include <sycl/queue.hpp>
#include <sycl/version.hpp>
#include <type_traits>
#include <utility>
#include <vector>

// The SYCL runtime that an extension is built against, as the number in the file name of libsycl.
#ifndef SYCL_EXT_LIBSYCL_MAJOR
#define SYCL_EXT_LIBSYCL_MAJOR __LIBSYCL_MAJOR_VERSION
#endif

namespace sycl_ext {

// Thrown when a Python exception is set.  The headers for pybind11 and nanobind throw the class of
// that library instead, which it turns back into the Python exception.
struct python_error : std::exception {
  const char* what() const noexcept override { return "a Python exception is set"; }
};

// Static variables of a header would otherwise be shared by all extensions of a process.
#pragma GCC visibility push(hidden)

namespace detail {

using thrower = void (*)();
inline thrower& throw_python_error() {
  static thrower instance = [] { throw python_error(); };
  return instance;
}

template <class Value>
Value checked(Value value, Value failed) {
  if (value == failed) throw_python_error()();
  return value;
}

using reference = std::unique_ptr<PyObject, void (*)(PyObject*)>;
inline reference owned(PyObject* object) { return {object, Py_DecRef}; }
inline reference kept(PyObject* object) {
  Py_INCREF(object);
  return owned(object);
}

// The attribute; empty: there is none, or it is None.  Throws any other Python exception.
inline reference attribute(PyObject* object, const char* name) {
  reference value = owned(PyObject_GetAttrString(object, name));
  if (!value) {
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw_python_error()();
    PyErr_Clear();
  } else if (value.get() == Py_None) {
    value = owned(nullptr);
  }
  return value;
}

// Whether the exception that is set is of a class of the package, and so of its base in Python.
inline bool is_set(PyObject* base, const char* name) noexcept {
  if (!PyErr_ExceptionMatches(base)) return false;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  const reference module = owned(PyImport_ImportModule("sycl_ext"));
  const reference error = owned(module ? PyObject_GetAttrString(module.get(), name) : nullptr);
  const bool is = error && PyErr_GivenExceptionMatches(type, error.get()) != 0;
  PyErr_Restore(type, value, traceback);
  return is;
}

// Whether the exception that is set says that the array can be had as a copy only.
inline bool needs_copy() noexcept { return is_set(PyExc_BufferError, "CopyRefusedError"); }

// Without the GIL, the interpreter would crash.
inline void require_gil() {
  if (PyGILState_Check()) return;
  throw std::logic_error("this function of sycl_ext needs the GIL; call it before you release it");
}

[[noreturn]] inline void rethrow(const sycl_ext_error& error) {
  switch (error.kind) {
    case sycl_ext_type_error:
    case sycl_ext_value_error:
    case sycl_ext_index_error:
      throw std::invalid_argument(error.message);
    case sycl_ext_memory_error:
      throw std::bad_alloc();
    default:
      throw std::runtime_error(error.message);
  }
}

// Calls a function of the table that reports failures in a sycl_ext_error, and throws them.
template <class Function, class... Args>
auto call(Function function, Args... args) {
  sycl_ext_error error;
  error.kind = -1;
  auto result = function(args..., &error);
  if (error.kind >= 0) rethrow(error);
  return result;
}

inline const sycl_ext_api* import_api() {
  auto* table = static_cast<const sycl_ext_api*>(PyCapsule_Import("sycl_ext._C_API", 0));
  if (!table) return nullptr;
  if (table->major != sycl_ext_api_major || table->nbytes < sizeof(sycl_ext_api)) {
    PyErr_Format(PyExc_ImportError,
                 "the installed sycl_ext has the C table %u (%u bytes), and this extension was "
                 "built for table %d (%zu bytes); install the sycl_ext that it was built with, or "
                 "build it again",
                 table->major, table->nbytes, int{sycl_ext_api_major}, sizeof(sycl_ext_api));
    return nullptr;
  }
  if (table->libsycl_major != SYCL_EXT_LIBSYCL_MAJOR) {
    PyErr_Format(PyExc_ImportError,
                 "the installed sycl_ext works with libsycl.so.%u, and this extension was built "
                 "against libsycl.so.%d: two SYCL runtimes share no objects; build it again with "
                 "the SYCL headers and library of this environment (intel-sycl-rt)",
                 table->libsycl_major, int{SYCL_EXT_LIBSYCL_MAJOR});
    return nullptr;
  }
  return table;
}

// Returns nullptr when a Python exception is set.
inline const sycl_ext_api* find_api() {
  static const sycl_ext_api* table = nullptr;
  if (!table) table = import_api();
  return table;
}

}  // namespace detail

#pragma GCC visibility pop

// The C table.  The first call imports the Python package and needs the GIL; make it when the
// extension module is initialised.  Throws when the import fails, or when the installed sycl_ext
// has another C table or another libsycl than the extension was built for.
inline const sycl_ext_api& api() {
  return *detail::checked<const sycl_ext_api*>(detail::find_api(), nullptr);
}

enum class usm_kind {
  device = sycl_ext_usm_device,
  shared = sycl_ext_usm_shared,
  host = sycl_ext_usm_host,
  system = sycl_ext_usm_system,  // host memory that the device reads
};

// Whether memory may be copied to the entry where it is wanted.
enum class copying { if_needed = -1, never = 0, always = 1 };

// ---- the device table ---------------------------------------------------------------------------

// One entry of the device table: a device, a context and a queue, under one DLPack device id. Every
// member may be called on any thread, with or without the GIL.  Throws std::invalid_argument when
// there is no such entry, and std::runtime_error when the SYCL runtime fails.
class device_entry {
 public:
  explicit device_entry(int id) { detail::call(api().get_entry, std::int32_t{id}, &entry_); }

  static device_entry default_device() { return device_entry(detail::call(api().default_entry)); }
  // The entry of a device in a context; it is appended to the table when it is new.
  static device_entry of(const sycl::device& device, const sycl::context& context) {
    return device_entry(detail::call(api().entry_of, static_cast<const void*>(&device),
                                     static_cast<const void*>(&context)));
  }
  // The entry of a root device, or of a sub-device: in the default context of its platform, or in a
  // context of its own when the default context cannot hold the sub-device.
  static device_entry of(const sycl::device& device) {
    return device_entry(detail::call(api().entry_of_device, static_cast<const void*>(&device)));
  }
  static device_entry of(const sycl::queue& queue) {
    return device_entry(detail::call(api().entry_of_queue, static_cast<const void*>(&queue)));
  }
  static int count() { return api().entry_count(); }
  static int root_count() { return api().root_count(); }

  int id() const noexcept { return entry_.id; }
  int root_id() const noexcept { return entry_.root_id; }
  int parent_id() const noexcept { return entry_.parent_id; }  // -1 for a root device
  bool is_root() const noexcept { return entry_.kind == sycl_ext_root; }
  bool is_sub_device() const noexcept { return entry_.kind == sycl_ext_sub_device; }
  bool is_private_context() const noexcept { return entry_.kind == sycl_ext_private_context; }
  bool is_default_context() const noexcept { return entry_.default_context != 0; }
  bool has_host_memory() const noexcept { return entry_.host_memory != 0; }

  const sycl::device& device() const noexcept {
    return *static_cast<const sycl::device*>(entry_.device);
  }
  const sycl::context& context() const noexcept {
    return *static_cast<const sycl::context*>(entry_.context);
  }
  // The queue that all extensions share for this entry.  It is in order.
  sycl::queue queue() const {
    return *static_cast<const sycl::queue*>(detail::call(api().queue_of_entry, entry_.id));
  }

  friend bool operator==(const device_entry& a, const device_entry& b) { return a.id() == b.id(); }
  friend bool operator!=(const device_entry& a, const device_entry& b) { return !(a == b); }

 private:
  sycl_ext_entry entry_;
};

// ---- element types ------------------------------------------------------------------------------

// An element type as DLPack writes it: a DLDataTypeCode and a number of bits.
struct dtype {
  std::uint8_t code, bits;
  friend bool operator==(dtype a, dtype b) { return a.code == b.code && a.bits == b.bits; }
};

namespace detail {
template <class T>
struct is_complex : std::false_type {};
template <class T>
struct is_complex<std::complex<T>> : std::true_type {};

template <class T>
constexpr std::uint8_t dtype_code() {
  if constexpr (std::is_same_v<T, bool>)
    return 6;  // kDLBool
  else if constexpr (std::is_same_v<T, sycl::ext::oneapi::bfloat16>)
    return 4;  // kDLBfloat
  else if constexpr (is_complex<T>::value)
    return 5;  // kDLComplex
  else if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, sycl::half>)
    return 2;  // kDLFloat
  else if constexpr (std::is_unsigned_v<T>)
    return 1;  // kDLUInt
  else {
    static_assert(std::is_signed_v<T>, "specialise sycl_ext::dtype_of for this type");
    return 0;  // kDLInt
  }
}
}  // namespace detail

// The DLPack type of T.  Specialise it for element types of your own.
template <class T>
struct dtype_of {
  static constexpr dtype value{detail::dtype_code<T>(), 8 * sizeof(T)};
};

namespace detail {

// A string that is put together when the program is compiled.
struct text {
  char data[96]{};
  std::size_t size = 0;
  constexpr void add(const char* more) {
    while (*more) data[size++] = *more++;
  }
  constexpr void add(int number) {
    if (number > 9) add(number / 10);
    data[size++] = static_cast<char>('0' + number % 10);
  }
};

// The name of a view type in messages: usm_view[const float32, 2].  Without `type` it has elements
// of any type, and with a negative `ndim` any number of dimensions.
constexpr text name_view(const sycl_ext::dtype* type, int ndim, bool readonly) {
  constexpr const char* kinds[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  text name;
  name.add("usm_view[");
  if (readonly) name.add("const ");
  if (type) {
    name.add(type->code < 7 ? kinds[type->code] : "dtype");
    if (type->code != 6) name.add(type->bits);
  } else {
    name.add("any");
  }
  if (ndim >= 0) {
    name.add(", ");
    name.add(ndim);
  }
  name.add("]");
  return name;
}

template <class T, int Ndim>
constexpr text name_view() {
  if constexpr (std::is_void_v<T>) {
    return name_view(nullptr, Ndim, std::is_const_v<T>);
  } else {
    constexpr sycl_ext::dtype type = dtype_of<std::remove_const_t<T>>::value;
    return name_view(&type, Ndim, std::is_const_v<T>);
  }
}

template <class T, int Ndim>
inline constexpr text view_name = name_view<T, Ndim>();

// The type of an argument in signatures.  Type checkers read it: sycl_ext.as_tensor takes Any.
constexpr text annotate(const text& name) {
  text annotation;
  annotation.add("typing.Annotated[typing.Any, \"");
  annotation.add(name.data);
  annotation.add("\"]");
  return annotation;
}

template <std::size_t Size>
struct exact_text {
  char data[Size]{};
};

// The same as an array of exactly its length, as the binding libraries take names.
template <class T, int Ndim>
inline constexpr auto view_annotation = [] {
  constexpr text annotation = annotate(view_name<T, Ndim>);
  exact_text<annotation.size + 1> exact;
  for (std::size_t i = 0; i < annotation.size; ++i) exact.data[i] = annotation.data[i];
  return exact;
}();

}  // namespace detail

// ---- memory -------------------------------------------------------------------------------------

// A typed, strided view of memory that the device of `entry()` can access, with its queue.
//
// const T: the function reads the memory.  Read-only memory is accepted, and memory that cannot be
//          viewed is copied.
// T:       the function writes the memory.  It is the caller's array, never a copy and never
//          read-only.
// void:    elements of any type.
//
// Submit work on the memory to `queue()`.  The memory is not released, and no other library gets
// it, before that queue is idle, so a function may submit work and return.  A view can be copied,
// kept and destroyed on any thread; destroying the last copy takes the GIL.
template <class T, int Ndim = -1>
class usm_view {
 public:
  using element_type = T;
  static constexpr bool writes = !std::is_const_v<T>;
  static constexpr bool any_dtype = std::is_void_v<T>;

  T* data() const noexcept { return static_cast<T*>(view_.data); }
  int ndim() const noexcept { return view_.ndim; }
  const std::int64_t* shape() const noexcept { return view_.shape; }
  const std::int64_t* strides() const noexcept { return view_.strides; }  // in elements
  std::int64_t shape(int axis) const noexcept { return view_.shape[axis]; }
  std::int64_t stride(int axis) const noexcept { return view_.strides[axis]; }
  std::int64_t size() const noexcept {
    std::int64_t count = 1;
    for (int axis = 0; axis < ndim(); ++axis) count *= shape(axis);
    return count;
  }
  std::size_t itemsize() const noexcept { return view_.dtype_bits / 8u; }
  std::size_t nbytes() const noexcept { return static_cast<std::size_t>(size()) * itemsize(); }
  sycl_ext::dtype dtype() const noexcept { return {view_.dtype_code, view_.dtype_bits}; }
  bool is_c_contiguous() const noexcept {
    std::int64_t expected = 1;
    for (int axis = ndim() - 1; axis >= 0; --axis) {
      if (shape(axis) > 1 && stride(axis) != expected && size() > 0) return false;
      expected *= shape(axis);
    }
    return true;
  }

  bool readonly() const noexcept { return view_.readonly != 0; }
  usm_kind kind() const noexcept { return static_cast<usm_kind>(view_.usm_kind); }
  device_entry entry() const { return device_entry(view_.entry); }
  // Whether the host can read the memory, once the queue is idle.
  bool host_accessible() const { return kind() != usm_kind::device || entry().has_host_memory(); }
  // The queue for work on the memory: the tensor's own queue if it has one, else the queue of the
  // entry.  It comes after the work that was pending when the view was made.
  sycl::queue queue() const {
    return *static_cast<const sycl::queue*>(api().queue_of_owner(owner_.get()));
  }
  // Keeps the memory alive without the Python object, for work that outlives the call.
  std::shared_ptr<const void> owner() const noexcept { return owner_; }
  // The sycl_ext.Tensor, as a borrowed reference.
  PyObject* object() const noexcept { return object_.get(); }

  // The same elements on another entry: a view where its device can use the memory, else a copy.
  // Needs the GIL.  Throws the Python exception of sycl_ext.as_tensor when a copy is refused.
  usm_view on(const device_entry& where, copying copy = copying::if_needed) const {
    if (where.id() == view_.entry && copy != copying::always) return *this;
    return from_python(object(), where.id(), writes ? copying::never : copy);
  }

  // A view of any object that sycl_ext.as_tensor takes, on an entry; -1 leaves the memory where it
  // is.  Needs the GIL.  Throws a Python exception when the object does not fit.
  static usm_view from_python(PyObject* object, int entry = -1,
                              copying copy = writes ? copying::never : copying::if_needed) {
    detail::require_gil();
    api();
    const std::unique_ptr<usm_view> view = require(object, entry, copy);
    if (!view) detail::throw_python_error()();
    return *view;
  }

  // ---- For the argument types of binding libraries.  Instead of throwing, these functions set a
  // ---- Python exception.

  // As from_python, after a call of api().  Returns nullptr when the object does not fit.
  static std::unique_ptr<usm_view> require(PyObject* object, int entry, copying copy) noexcept {
    PyObject* const tensor = api().as_tensor(object, entry, static_cast<std::int32_t>(copy));
    if (!tensor) {
      // The text advises another `copy`, which the caller of the function cannot pass.
      if (writes && entry < 0 && detail::needs_copy()) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        PyErr_Format(type,
                     "this function writes to its argument, and the default device cannot use the "
                     "memory of this %s in place; pass a copy of it: sycl_ext.as_tensor(x)",
                     Py_TYPE(object)->tp_name);
        for (PyObject* part : {type, value, traceback}) Py_XDECREF(part);
      }
      return nullptr;
    }
    std::unique_ptr<usm_view> view = open(tensor);
    if (!view || (!view->mismatch() && view->may_write())) return view;
    if (const char* mismatch = view->mismatch()) {
      const sycl_ext::dtype type = view->dtype();
      PyErr_Format(PyExc_TypeError, "%s is required, but this %s has %s: it is %s",
                   detail::view_name<T, Ndim>.data, Py_TYPE(object)->tp_name, mismatch,
                   detail::name_view(&type, view->ndim(), view->readonly()).data);
    }
    return nullptr;
  }
  // Steals a reference to a sycl_ext.Tensor.  Returns nullptr when it cannot be viewed.
  static std::unique_ptr<usm_view> open(PyObject* tensor) noexcept {
    try {
      std::unique_ptr<usm_view> view(new usm_view);
      view->object_.reset(tensor, [](PyObject* object) { api().release_object(object); });
      if (api().view_of(tensor, &view->view_) < 0) return nullptr;
      view->owner_.reset(view->view_.owner, [](void* owner) { api().release_owner(owner); });
      return view;
    } catch (const std::bad_alloc&) {
      PyErr_NoMemory();
      return nullptr;
    }
  }
  // How the elements or axes differ from T and Ndim; nullptr when they do not.
  const char* mismatch() const noexcept {
    if (Ndim >= 0 && ndim() != Ndim) return "a different number of dimensions";
    if constexpr (!any_dtype) {
      if (!(dtype() == dtype_of<std::remove_const_t<T>>::value)) return "a different dtype";
    }
    return nullptr;
  }
  // Returns false, with a BufferError set, when the memory is read-only and T is not const.
  bool may_write() const noexcept {
    if (!writes || !readonly()) return true;
    PyErr_Format(PyExc_BufferError,
                 "%R is read-only, and this function writes to it; pass a copy of it", object());
    return false;
  }

 private:
  usm_view() = default;

  sycl_ext_view view_;
  std::shared_ptr<PyObject> object_;
  std::shared_ptr<void> owner_;
};

// A view as the argument of a function without overloads.  The error for a wrong argument says what
// was found, which the binding libraries' own error does not.
template <class T, int Ndim = -1>
class usm_argument : public usm_view<T, Ndim> {
 public:
  explicit usm_argument(usm_view<T, Ndim> view) : usm_view<T, Ndim>(std::move(view)) {}
};

// ---- queues of Python ---------------------------------------------------------------------------

// The sycl::queue of a Python object: of a dpctl.SyclQueue, of a "SyclQueueRef" capsule, or of an
// object with the attribute `sycl_queue`, such as a tensor, a sycl_ext.Device or an array of dpnp.
// The result is a handle of its own: it stays valid when the Python object is gone.
// Needs the GIL.  Throws a Python TypeError for any other object.
inline sycl::queue queue_from_python(PyObject* object) {
  detail::require_gil();
  constexpr const char* name = "SyclQueueRef";
  detail::reference queue = detail::kept(object);
  detail::reference get_capsule = detail::attribute(object, "_get_capsule");
  if (!get_capsule) {
    if (detail::reference shown = detail::attribute(object, "sycl_queue")) {
      get_capsule = detail::attribute(shown.get(), "_get_capsule");
      queue = std::move(shown);
    }
  }
  if (get_capsule) {
    PyObject* const capsule = PyObject_CallObject(get_capsule.get(), nullptr);
    queue = detail::owned(detail::checked<PyObject*>(capsule, nullptr));
  }
  if (!PyCapsule_IsValid(queue.get(), name)) {
    PyErr_Format(PyExc_TypeError,
                 "the queue is %R; pass a dpctl.SyclQueue, or an object with a sycl_queue, such as "
                 "a tensor, a sycl_ext.Device or an array of dpnp",
                 object);
    detail::throw_python_error()();
  }
  return *static_cast<const sycl::queue*>(PyCapsule_GetPointer(queue.get(), name));
}

// ---- the order of work --------------------------------------------------------------------------

// An event that work on the memory must wait for: it comes after everything that was submitted to
// the view's queue so far.  Call it before `submit`, not in its function: see docs/extension.md.
template <class T, int N>
sycl::event ready(const usm_view<T, N>& view) {
  return view.queue().ext_oneapi_submit_barrier();
}

// Orders later users of the memory, and its release, after `events` of `worker`.  Waits for events
// of another context, because a queue cannot depend on them, and for work on host memory, because
// its owner may read it at any time without asking a queue.
template <class T, int N>
void finish(const usm_view<T, N>& view, const sycl::queue& worker,
            std::vector<sycl::event> events) {
  sycl::queue queue = view.queue();
  if (view.kind() != usm_kind::system && queue.get_context() == worker.get_context()) {
    queue.ext_oneapi_submit_barrier(events);
  } else {
    sycl::event::wait(events);
  }
}

// ---- the way back -------------------------------------------------------------------------------

namespace detail {

inline sycl_ext_view description(const device_entry& entry, dtype type, const std::int64_t* shape,
                                 int ndim) {
  sycl_ext_view view{};
  view.shape = shape;
  view.ndim = ndim;
  view.dtype_code = type.code;
  view.dtype_bits = type.bits;
  view.dtype_lanes = 1;
  view.entry = entry.id();
  return view;
}

// Calls `wrap` of the table with the description.
template <class T, class Call>
PyObject* wrapped(T* data, const std::vector<std::int64_t>& shape, const device_entry& entry,
                  const std::vector<std::int64_t>& strides, const Call& call) {
  using element = std::remove_const_t<T>;
  require_gil();
  if (!strides.empty() && strides.size() != shape.size()) {
    throw std::invalid_argument("shape and strides differ in length");
  }
  sycl_ext_view view =
      description(entry, dtype_of<element>::value, shape.data(), static_cast<int>(shape.size()));
  view.data = const_cast<element*>(data);
  view.strides = strides.empty() ? nullptr : strides.data();
  view.readonly = std::is_const_v<T>;
  return checked<PyObject*>(call(view), nullptr);
}

}  // namespace detail

// Returns a new reference to a sycl_ext.Tensor over USM of the extension.  `owner` keeps the memory
// alive; it is dropped on any thread, when the last view is gone and `queue` is idle.  `queue` is
// the queue for work on the memory, or nullptr for the queue of the entry.  `strides` count
// elements; without them the elements are in C order.  The tensor is read-only when T is const.
// Needs the GIL.
template <class T>
PyObject* wrap(T* data, const std::vector<std::int64_t>& shape, const device_entry& entry,
               std::shared_ptr<const void> owner, const sycl::queue* queue = nullptr,
               const std::vector<std::int64_t>& strides = {}) {
  using keeper = std::shared_ptr<const void>;
  return detail::wrapped(data, shape, entry, strides, [&](const sycl_ext_view& view) {
    return api().wrap(&view, queue, new keeper(std::move(owner)),
                      [](void* keep) { delete static_cast<keeper*>(keep); });
  });
}

// The same, with a Python object that keeps the memory alive, which the garbage collector finds.
template <class T>
PyObject* wrap(T* data, const std::vector<std::int64_t>& shape, const device_entry& entry,
               PyObject* owner, const sycl::queue* queue = nullptr,
               const std::vector<std::int64_t>& strides = {}) {
  return detail::wrapped(data, shape, entry, strides, [&](const sycl_ext_view& view) {
    Py_INCREF(owner);
    return api().wrap(&view, queue, owner, api().release_object);
  });
}

namespace detail {
template <class View>
View made(sycl_ext_view description, usm_kind kind, const sycl::queue* queue) {
  require_gil();
  description.usm_kind = static_cast<std::int32_t>(kind);
  const auto view = View::open(checked<PyObject*>(api().make(&description, queue), nullptr));
  if (!view) throw_python_error()();
  return *view;
}
}  // namespace detail

// Allocates a new tensor; its elements are not initialised.  `shape` has `ndim` lengths, as the one
// of a view: make<float>(x.shape(), x.ndim(), x.entry()).  Needs the GIL.
template <class T, int Ndim = -1>
usm_view<T, Ndim> make(const std::int64_t* shape, int ndim, const device_entry& entry,
                       usm_kind kind = usm_kind::device, const sycl::queue* queue = nullptr) {
  if (Ndim >= 0 && ndim != Ndim) {
    throw std::invalid_argument("the length of the shape is not the number of dimensions");
  }
  return detail::made<usm_view<T, Ndim>>(
      detail::description(entry, dtype_of<T>::value, shape, ndim), kind, queue);
}

template <class T, int Ndim = -1>
usm_view<T, Ndim> make(const std::vector<std::int64_t>& shape, const device_entry& entry,
                       usm_kind kind = usm_kind::device, const sycl::queue* queue = nullptr) {
  return make<T, Ndim>(shape.data(), static_cast<int>(shape.size()), entry, kind, queue);
}

// Allocates a new tensor in C order with the shape, element type, entry, own queue and kind of USM
// of a view, as sycl_ext.empty_like.  For host memory (usm_kind::system) it is device USM.  Needs
// the GIL.
template <class T, int Ndim>
usm_view<std::remove_const_t<T>, Ndim> make_like(const usm_view<T, Ndim>& view) {
  const device_entry entry = view.entry();
  const sycl::queue queue = view.queue();
  const usm_kind kind = view.kind() == usm_kind::system ? usm_kind::device : view.kind();
  return detail::made<usm_view<std::remove_const_t<T>, Ndim>>(
      detail::description(entry, view.dtype(), view.shape(), view.ndim()), kind,
      queue == entry.queue() ? nullptr : &queue);
}

// Whether two views have the same number of dimensions and the same lengths.
template <class T, int N, class U, int M>
bool same_shape(const usm_view<T, N>& a, const usm_view<U, M>& b) noexcept {
  return a.ndim() == b.ndim() && std::equal(a.shape(), a.shape() + a.ndim(), b.shape());
}

// ---- argument types of the binding libraries ----------------------------------------------------

namespace detail {

// The result of converting an argument.
template <class View>
struct loaded {
  std::optional<View> view;
  bool is_error = false;  // a Python exception is set, for the caller of the function
};

// Whether the exception that is set is a refusal of a producer.  Every other one goes through, also
// the failure of a command, which is reported only once.
inline bool is_refusal() noexcept {
  if (PyErr_ExceptionMatches(PyExc_RecursionError)) return false;
  if (is_set(PyExc_RuntimeError, "SyclError")) return false;
  for (PyObject* refusal : {PyExc_BufferError, PyExc_TypeError, PyExc_ValueError,
                            PyExc_RuntimeError, PyExc_AttributeError}) {
    if (PyErr_ExceptionMatches(refusal)) return true;
  }
  return false;
}

// Converts an argument.  An array does not fit, so that the other overloads are tried, if it is
// none, or can be had as a copy only.  Without `convert` nothing is copied, and no other refusal is
// an error either.
template <class T, int Ndim>
void load(PyObject* object, bool convert, loaded<usm_view<T, Ndim>>& result) noexcept {
  using View = usm_view<T, Ndim>;
  const auto refused = [&] {
    const bool fits_not = PyErr_ExceptionMatches(PyExc_TypeError) != 0 || needs_copy();
    result.is_error = !is_refusal() || (!fits_not && convert);
    if (!result.is_error) PyErr_Clear();
  };
  if (object == Py_None) return;
  const bool may_copy = convert && !View::writes;
  PyObject* const tensor = find_api()->as_tensor(object, -1, may_copy ? -1 : 0);
  if (!tensor) return refused();
  const std::unique_ptr<View> view = View::open(tensor);
  if (!view) return refused();
  if (view->mismatch()) return;
  if (!view->may_write()) return refused();
  result.view = std::move(*view);
}

// An argument that does not fit is an error, because there are no other overloads.
template <class T, int Ndim>
void load(PyObject* object, bool convert, loaded<usm_argument<T, Ndim>>& result) noexcept {
  using View = usm_view<T, Ndim>;
  const bool may_copy = convert && !View::writes;
  const auto view = View::require(object, -1, may_copy ? copying::if_needed : copying::never);
  result.is_error = !view;
  if (view) result.view.emplace(std::move(*view));
}

// The object is kept: a container may lose it meanwhile, because Python code can run.
template <class View>
loaded<View> load(PyObject* object, bool convert) noexcept {
  const reference kept_object = kept(object);
  loaded<View> result;
  if (find_api()) {
    load(object, convert, result);
  } else {
    result.is_error = true;
  }
  return result;
}

}  // namespace detail

}  // namespace sycl_ext
