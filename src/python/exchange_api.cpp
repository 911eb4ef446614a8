// SPDX-License-Identifier: Apache-2.0
#include "base/error.hpp"
#include "python/imports.hpp"
#include "python/routes.hpp"
#include "runtime/devices/dl_device.hpp"
#include "runtime/devices/runtimes.hpp"
#include "runtime/sycl/untrusted.hpp"
#include "tensor/copy.hpp"

namespace sycl_ext {

namespace {

// ---- as a producer ------------------------------------------------------------------------------
// C calls these: no exception may leave them, and an error is -1 with the Python exception set.

// Allocates host memory, device USM of an entry, or memory of a device type of CUDA and ROCm, which
// includes the kind of USM.
Tensor make_like(const DLTensor& prototype) {
  const DType& dtype = dtype_from_dlpack(prototype.dtype);
  const Layout layout = read_layout(prototype.ndim, prototype.shape, Order::c, dtype.itemsize());
  const int type = static_cast<int>(prototype.device.device_type), id = prototype.device.device_id;
  const NamedDevice named = resolve(prototype.device);
  if (named.is_host && id == 0) return make_host_tensor(dtype, layout);
  if (named.entry) {
    return make_tensor(*named.entry, named.kind.value_or(UsmKind::device), dtype, layout);
  }
  if (type == kDLOneAPI) entry_at(id);  // says which there are
  fail(Error::Kind::buffer, "sycl_ext cannot allocate on the device (", type, ", ", id,
       "); (1, 0) is the host, and sycl_ext.devices() lists the SYCL devices");
}

int allocate_like(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_context,
                  void (*set_error)(void*, const char*, const char*)) {
  *out = nullptr;
  const auto tell = [&](Error::Kind kind, const char* text) {
    const char* const name = kind == Error::Kind::memory    ? "MemoryError"
                             : kind == Error::Kind::runtime ? "RuntimeError"
                                                            : "BufferError";
    if (set_error) set_error(error_context, name, text);
  };
  try {
    *out = export_managed<DLManagedTensorVersioned>(make_like(*prototype), {prototype->device});
    return 0;
  } catch (const PythonError&) {  // which the caller does not look for
    PyErr_WriteUnraisable(Py_None);
    tell(Error::Kind::memory,
         "the allocation ended with a Python exception, of the callback of sycl_ext.memory.limit "
         "or of a signal handler; sys.unraisablehook has it");
  } catch (...) {
    tell_exception(tell);
  }
  return -1;
}

const Tensor& shareable(PyObject* object) {
  const Tensor& tensor = tensor_of(object);
  note_offer(object, Py_None);
  if (!has_our_dlpack(object)) {
    fail(Error::Kind::buffer, "the class ", Py_TYPE(object)->tp_name,
         " has DLPack methods of its own, which the C exchange table would not call; pass "
         "from_dlpack(x)");
  }
  const Route route = route_of(tensor, {Wanted::announced});
  if (route != Route::view && route != Route::host_view) {
    fail(Error::Kind::buffer,
         "the tensor is not USM of the default context of its device, so a view of it cannot be "
         "exported; __dlpack__() copies it there");
  }
  return tensor;
}

// The table promises no synchronisation: a consumer asks for the stream of the device that the
// struct names, the root device, and uses that.  So all work on the memory goes before what comes
// later on that stream.  The host has no stream: there the work is waited for.
const Tensor& ordered(const Tensor& tensor) {
  if (tensor.on_host) {
    tensor.memory->wait_for_work();
  } else if (tensor.memory->may_have_work()) {
    order_after(entry_at(tensor.memory->entry->root_id).queue(), tensor.memory);
  }
  return tensor;
}

int from_object(void* object, DLManagedTensorVersioned** out) {
  auto* const self = static_cast<PyObject*>(object);
  return guarded(-1, [&] {
    const Tensor& tensor = shareable(self);
    *out = export_managed<DLManagedTensorVersioned>(ordered(tensor), {tensor.dl_device()});
    note_offer(self, Py_True);
    return 0;
  });
}

int borrow_from_object(void* object, DLTensor* out) {
  auto* const self = static_cast<PyObject*>(object);
  return guarded(-1, [&] {
    const Tensor& tensor = shareable(self);
    if (tensor.readonly) {
      fail(Error::Kind::buffer, "the tensor is read-only, and a DLTensor has no flag for it");
    }
    if (!tensor.on_host) tensor.memory->show();  // nobody says when such a consumer is done
    write_dl_tensor(ordered(tensor), tensor.dl_device(), out);
    note_offer(self, Py_True);
    return 0;
  });
}

int to_object(DLManagedTensorVersioned* managed, void** out) {
  return guarded(-1, [&] {
    Tensor tensor = import_managed(managed, {}).tensor;
    PyObject* type = tensor.on_host ? hooks.host_view_class : hooks.tensor_class;
    *out = wrap_tensor(std::move(tensor), nullptr, reinterpret_cast<PyTypeObject*>(type));
    return *out ? 0 : -1;
  });
}

// The stream for the work of a consumer: the sycl::queue of the entry, as torch does for XPU; for a
// name of CUDA or ROCm a stream of ours.
int current_work_stream(DLDeviceType device_type, int32_t device_id, void** out) {
  return guarded(-1, [&] {
    *out = nullptr;
    const NamedDevice named = resolve({device_type, device_id});
    if (static_cast<int>(device_type) == kDLOneAPI) {
      *out = const_cast<void*>(entry_at(device_id).queue().share());
    } else if (named.entry) {
      *out = reinterpret_cast<void*>(native_stream(*named.entry));
    }
    return 0;
  });
}

const DLPackExchangeAPI api = {
    {{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}, nullptr},
    allocate_like,
    from_object,
    to_object,
    borrow_from_object,
    current_work_stream,
};

// ---- as a consumer ------------------------------------------------------------------------------

// Whether a tensor of torch asks for autograd, or is conjugated or negated lazily.  torch's
// __dlpack__ refuses the first two (not the negated ones), and its table (2.13) none: they export
// the memory as it lies, which is wrong data for the lazy bits, and pass autograd by.
bool has_lazy_state(PyObject* producer) {
  static PyObject* const requires_grad = intern("requires_grad");
  static PyObject* const is_conj = intern("is_conj");
  static PyObject* const is_neg = intern("is_neg");
  const auto is_set = [producer](PyObject* name, auto* get) {
    const PyRef value(get(producer, name));
    const bool is_missing = !value && PyErr_ExceptionMatches(PyExc_AttributeError);
    if (!value) (void)take_exception();
    return !is_missing && value.get() != Py_False;
  };
  return is_set(requires_grad, PyObject_GetAttr) || is_set(is_conj, PyObject_CallMethodNoArgs) ||
         is_set(is_neg, PyObject_CallMethodNoArgs);
}

}  // namespace

PyObject* exchange_api_capsule() {
  return PyCapsule_New(const_cast<DLPackExchangeAPI*>(&api), exchange_api_name, nullptr);
}

std::optional<Imported> import_through_api(PyObject* producer, const ProducerClass& its_class,
                                           ImportOptions options) {
  const DLPackExchangeAPI* const table = its_class.table;
  const bool may_be_lazy = its_class.facts & ProducerClass::has_lazy_state;
  if (!table || (may_be_lazy && has_lazy_state(producer))) return std::nullopt;
  DLManagedTensorVersioned* managed = nullptr;
  const int failed = hang_at_thread_end(
      [&] { return table->managed_tensor_from_py_object_no_sync(producer, &managed); });
  Owner owner(failed ? nullptr : managed, call_deleter<DLManagedTensorVersioned>);
  // An exception is a failure, whatever the function returned; the Python protocol describes it.
  const auto raised = [] { return PyErr_Occurred() && take_exception(); };
  if (raised() || !owner) return std::nullopt;
  const int type = static_cast<int>(managed->dl_tensor.device.device_type);
  if ((type == kDLOneAPI && has_other_libsycl()) || resolve(managed->dl_tensor.device).kind) {
    // The work stream may be of that runtime, or not be a queue: the Python protocol asks for data
    // that is ready, or orders it.
    return std::nullopt;
  }
  Queue queue;
  if (type == kDLOneAPI) {
    // The table promises no synchronisation: reads of the memory wait for the producer's queue.
    void* stream = nullptr;
    const int id = managed->dl_tensor.device.device_id;
    const bool has_stream = table->current_work_stream(kDLOneAPI, id, &stream) == 0 && stream;
    // A view without any order would be read too early; the Python protocol has an order.
    if (raised() || !has_stream) return std::nullopt;
    queue = queue_at_untrusted(stream);
    options.queue = &queue;
  }
  (void)owner.release();
  return import_managed(managed, options);
}

}  // namespace sycl_ext
