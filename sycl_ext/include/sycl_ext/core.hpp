// SPDX-License-Identifier: Apache-2.0
//
// sycl_ext for C++ extensions, without a binding library: the device table as `device_entry`,
// memory as `usm_view<T>`.  <sycl_ext/sycl_ext.hpp> adds the pybind11 argument type,
// <sycl_ext/nanobind.hpp> the nanobind one.
//
// Needs the SYCL headers and any C++17 compiler; links against libsycl, and against nothing of
// ours.
#pragma once

#include <Python.h>
#include <sycl_ext/c_api.h>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
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

// Thrown when a Python exception is set.  The pybind11 and nanobind headers throw their own class
// instead, which those libraries turn back into the Python exception.
struct python_error : std::exception {
  const char* what() const noexcept override { return "a Python exception is set"; }
};

// What is static in a header would otherwise be shared by all extensions of a process.
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

// Calls a function of the table that fills an error.
template <class Function, class... Args>
auto call(Function function, Args... args) {
  sycl_ext_error error;
  error.kind = -1;
  auto result = function(args..., &error);
  if (error.kind >= 0) rethrow(error);
  return result;
}

inline const sycl_ext_api* import_api() {
  auto* table = static_cast<const sycl_ext_api*>(PyCapsule_Import("sycl_ext._core._C_API", 0));
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

// nullptr: a Python exception is set.
inline const sycl_ext_api* find_api() {
  static const sycl_ext_api* table = nullptr;
  if (!table) table = import_api();
  return table;
}

}  // namespace detail

#pragma GCC visibility pop

// The C table.  The first call imports the Python package, and needs the GIL: a good place for it
// is the initialisation of the extension module.
inline const sycl_ext_api& api() {
  return *detail::checked<const sycl_ext_api*>(detail::find_api(), nullptr);
}

enum class usm_kind {
  device = sycl_ext_usm_device,
  shared = sycl_ext_usm_shared,
  host = sycl_ext_usm_host,
  system = sycl_ext_usm_system,  // host memory that the device reads
};

// May memory be copied to where it is wanted?
enum class copying { if_needed = -1, never = 0, always = 1 };

// ---- the device table ---------------------------------------------------------------------------

// One entry of the table, by its DLPack device id: a device, a context, a queue.  Any
// thread, with or without the GIL.  std::invalid_argument: there is no such entry.
class device_entry {
 public:
  explicit device_entry(int id) { detail::call(api().get_entry, std::int32_t{id}, &entry_); }

  static device_entry default_device() { return device_entry(detail::call(api().default_entry)); }
  // The entry of a device in a context, appended when it is new.
  static device_entry of(const sycl::device& device, const sycl::context& context) {
    return device_entry(detail::call(api().entry_of, static_cast<const void*>(&device),
                                     static_cast<const void*>(&context)));
  }
  // A root device, or a sub-device in the context where it lives when nobody names one.
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
  int parent_id() const noexcept { return entry_.parent_id; }  // -1: a root device
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
  // The queue that everybody in the process shares for the device and context, dpnp for instance.
  // It is out of order: commands are ordered by events.
  sycl::queue queue() const {
    return *static_cast<const sycl::queue*>(detail::call(api().queue_of_entry, entry_.id));
  }

  friend bool operator==(const device_entry& a, const device_entry& b) { return a.id() == b.id(); }
  friend bool operator!=(const device_entry& a, const device_entry& b) { return !(a == b); }

 private:
  sycl_ext_entry entry_;
};

// ---- element types ------------------------------------------------------------------------------

// The DLPack type of T: specialise it for types of your own.
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

template <class T>
struct dtype_of {
  static constexpr dtype value{detail::dtype_code<T>(), 8 * sizeof(T)};
};

// ---- memory -------------------------------------------------------------------------------------

// A typed, strided view of memory that the device of `entry()` reaches, and its queue.
//
// T const: the memory is read; read-only memory is welcome, and it may be a copy when there is no
//          way to a view.
// T:       the memory is written; it is the caller's own, never a copy and never read-only.
// void:    of any element type.
//
// Work on the memory goes to `queue()`.  The memory is neither released nor handed to anybody else
// before that queue is idle, so a function may submit work there and return.  A view can be copied,
// kept and dropped on any thread; dropping it takes the GIL.
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
  // Whether the host may read the memory (once the queue is idle).
  bool host_accessible() const { return kind() != usm_kind::device || entry().has_host_memory(); }
  // The queue that work on the memory goes to: its producer's, or the shared queue of the entry,
  // which is out of order.
  sycl::queue queue() const {
    return *static_cast<const sycl::queue*>(api().queue_of_owner(owner_.get()));
  }
  // Keeps the memory alive, without the Python object: for work that outlives the call.
  std::shared_ptr<const void> owner() const noexcept { return owner_; }
  // The sycl_ext.Tensor, borrowed.
  PyObject* object() const noexcept { return object_.get(); }

  // The same elements on another entry: this very view where the memory can be used there.  With
  // the GIL; the Python exception of sycl_ext.as_tensor when the copy is refused.
  usm_view on(const device_entry& where, copying copy = copying::if_needed) const {
    if (where.id() == view_.entry && copy != copying::always) return *this;
    return from_python(object(), where.id(), writes ? copying::never : copy);
  }

  // A view of anything that sycl_ext.as_tensor takes, on an entry (-1: where it is).  With the GIL;
  // a Python exception when that cannot be.
  static usm_view from_python(PyObject* object, int entry = -1,
                              copying copy = writes ? copying::never : copying::if_needed) {
    const std::unique_ptr<usm_view> view = open(detail::checked<PyObject*>(
        api().as_tensor(object, entry, static_cast<std::int32_t>(copy)), nullptr));
    if (!view) detail::throw_python_error()();
    if (const char* mismatch = view->mismatch()) {
      PyErr_Format(PyExc_TypeError, "%R is no array for this function: %s", view->object(),
                   mismatch);
      detail::throw_python_error()();
    }
    if (!view->may_write()) detail::throw_python_error()();
    return *view;
  }

  // ---- For the argument types of binding libraries: no exceptions, a Python exception is set.

  // Takes a reference to a sycl_ext.Tensor over; nullptr: it cannot be viewed.
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
  // Why elements or axes do not fit T and Ndim; nullptr: they do.
  const char* mismatch() const noexcept {
    if (Ndim >= 0 && ndim() != Ndim) return "it has another number of dimensions";
    if constexpr (!any_dtype) {
      if (!(dtype() == dtype_of<std::remove_const_t<T>>::value)) return "it has another dtype";
    }
    return nullptr;
  }
  // False, with a BufferError set: the memory is read-only, and T is not const.
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

// ---- the order of work --------------------------------------------------------------------------

// An event after everything that was submitted to a view's queue so far: what work on the memory
// has to wait for.
template <class T, int N>
sycl::event ready(const usm_view<T, N>& view) {
  return view.queue().ext_oneapi_submit_barrier();
}

// Whoever asks for the memory of a view later waits for `events` of `worker`, and its release comes
// after them.  Those of another context are waited for here: a queue cannot wait for them.  So is
// work on host memory, whose owner knows of no queue and may read it at any time.
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

inline sycl_ext_view description(const device_entry& entry, dtype type,
                                 const std::vector<std::int64_t>& shape) {
  sycl_ext_view view{};
  view.shape = shape.data();
  view.ndim = static_cast<std::int32_t>(shape.size());
  view.dtype_code = type.code;
  view.dtype_bits = type.bits;
  view.dtype_lanes = 1;
  view.entry = entry.id();
  return view;
}

}  // namespace detail

// A sycl_ext.Tensor over USM, a new reference.  `owner` keeps the memory; it is dropped on any
// thread, when the last view is gone and `queue` is idle.  `queue` is the queue that work on the
// memory goes to (nullptr: the entry's).  T const: a read-only tensor.  With the GIL.
template <class T>
PyObject* wrap(T* data, const std::vector<std::int64_t>& shape, const device_entry& entry,
               std::shared_ptr<const void> owner, const sycl::queue* queue = nullptr,
               const std::vector<std::int64_t>& strides = {}) {
  using element = std::remove_const_t<T>;
  if (!strides.empty() && strides.size() != shape.size()) {
    throw std::invalid_argument("shape and strides differ in length");
  }
  sycl_ext_view view = detail::description(entry, dtype_of<element>::value, shape);
  view.data = const_cast<element*>(data);
  view.strides = strides.empty() ? nullptr : strides.data();
  view.readonly = std::is_const_v<T>;
  using keeper = std::shared_ptr<const void>;
  return detail::checked<PyObject*>(
      api().wrap(&view, queue, new keeper(std::move(owner)),
                 [](void* keep) { delete static_cast<keeper*>(keep); }),
      nullptr);
}

// The same, kept by a Python object.
template <class T>
PyObject* wrap(T* data, const std::vector<std::int64_t>& shape, const device_entry& entry,
               PyObject* owner, const sycl::queue* queue = nullptr,
               const std::vector<std::int64_t>& strides = {}) {
  Py_INCREF(owner);
  return wrap(
      data, shape, entry,
      std::shared_ptr<const void>(
          owner, [](const void* object) { api().release_object(const_cast<void*>(object)); }),
      queue, strides);
}

// A new tensor in memory of its own.  With the GIL.
template <class T>
usm_view<T> make(const std::vector<std::int64_t>& shape, const device_entry& entry,
                 usm_kind kind = usm_kind::device, const sycl::queue* queue = nullptr) {
  sycl_ext_view view = detail::description(entry, dtype_of<T>::value, shape);
  view.usm_kind = static_cast<std::int32_t>(kind);
  const auto made =
      usm_view<T>::open(detail::checked<PyObject*>(api().make(&view, queue), nullptr));
  if (!made) detail::throw_python_error()();
  return *made;
}

// ---- for the argument types of the binding libraries
// ----------------------------------------------

namespace detail {

// What became of an argument.
template <class View>
struct loaded {
  std::unique_ptr<View> view;
  bool is_error = false;  // a Python exception is set: the array is right, and cannot be had
};

// Converts an argument.  Without `convert` nothing is copied, and what cannot be had counts as
// something that is no array for this function, so that another overload gets its chance.
template <class View>
loaded<View> load(PyObject* object, bool convert) noexcept {
  const auto refused = [&] {
    const bool no_array = PyErr_ExceptionMatches(PyExc_TypeError) != 0;
    if (no_array || !convert) PyErr_Clear();
    return loaded<View>{nullptr, !no_array && convert};
  };
  if (object == Py_None) return {};
  if (!find_api()) return {nullptr, true};
  const bool may_copy = convert && !View::writes;
  PyObject* const tensor = find_api()->as_tensor(object, -1, may_copy ? -1 : 0);
  if (!tensor) return refused();
  std::unique_ptr<View> view = View::open(tensor);
  if (!view) return refused();
  if (view->mismatch()) return {};
  if (!view->may_write()) return refused();
  return {std::move(view)};
}

}  // namespace detail

}  // namespace sycl_ext
