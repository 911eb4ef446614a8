// SPDX-License-Identifier: Apache-2.0
#include "python/exchange_api.hpp"

#include "base/error.hpp"
#include "python/dpctl_queue.hpp"
#include "python/producer_class.hpp"
#include "rules/routes.hpp"
#include "runtime/devices/dl_device.hpp"
#include "runtime/sycl/runtimes.hpp"
#include "runtime/sycl/untrusted.hpp"
#include "tensor/copy.hpp"

namespace sycl_ext {

namespace {

// C code calls these functions, so no exception may leave them.  An error is the result -1, with
// the Python exception set.

// Allocates host memory, device USM of an entry, or memory of a device type of CUDA and ROCm, which
// includes the kind of USM.
Tensor make_like(const DLTensor& prototype) {
  const DType& dtype = dtype_from_dlpack(prototype.dtype);
  const Layout layout = read_layout(prototype.ndim, prototype.shape, Order::c, dtype.itemsize());
  const int type = static_cast<int>(prototype.device.device_type), id = prototype.device.device_id;
  const NamedDevice named = resolve(prototype.device);
  if (named.is_host) return make_host_tensor(dtype, layout);
  if (named.entry) {
    return make_tensor(*named.entry, named.kind.value_or(UsmKind::device), dtype, layout);
  }
  if (type == kDLOneAPI) entry_at(id);  // raises an error that lists the entries
  fail(Error::Kind::buffer, "sycl_ext cannot allocate on device (", type, ", ", id,
       "); (1, 0) is the host, and sycl_ext.devices() lists the SYCL devices");
}

const char* exception_name(Error::Kind kind) noexcept {
  if (kind == Error::Kind::memory) return "MemoryError";
  if (kind == Error::Kind::runtime) return "RuntimeError";
  return "BufferError";
}

int allocate_like(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_context,
                  void (*set_error)(void*, const char*, const char*)) {
  *out = nullptr;
  const auto tell = [&](Error::Kind kind, const char* text) {
    if (set_error) set_error(error_context, exception_name(kind), text);
  };
  try {
    *out = export_managed<DLManagedTensorVersioned>(make_like(*prototype), {prototype->device});
    return 0;
  } catch (const PythonError&) {  // the caller does not look for it
    PyErr_WriteUnraisable(Py_None);
    tell(Error::Kind::memory,
         "the allocation failed with a Python exception from the callback of sycl_ext.memory.limit "
         "or from a signal handler, which was reported to sys.unraisablehook");
  } catch (...) {
    tell_exception(tell);
  }
  return -1;
}

// A tensor, and the device under which the table exports the memory in place.
struct Shared {
  const Tensor& tensor;
  DLDevice device;

  bool is_host() const noexcept { return static_cast<int>(device.device_type) == kDLCPU; }
};

// USM of the default context is exported under its device, other memory that the host reaches under
// (1, 0).
Shared shareable(PyObject* object) {
  const Tensor& tensor = tensor_of(object);
  if (!has_our_dlpack(object)) {
    fail(Error::Kind::buffer, "the class ", Py_TYPE(object)->tp_name,
         " overrides DLPack methods, which the C exchange API would not call; pass "
         "from_dlpack(x)");
  }
  const Route announced = route_of(tensor, Destination::announced, Copy::if_needed);
  if (announced == Route::view || announced == Route::host_view)
    return {tensor, tensor.dl_device()};
  if (route_of(tensor, Destination::host, Copy::never) == Route::host_view) {
    return {tensor, {kDLCPU, 0}};
  }
  fail(Error::Kind::buffer, "the tensor can be exported only as a copy, because its '",
       usm_kind_name(tensor.memory->kind),
       "' memory is not bound to the default context of its device, and cannot be viewed on the "
       "host (",
       tensor.host_accessible() ? "a stride is negative" : "it is device memory",
       "); pass x.to_device(", tensor.memory->entry ? tensor.memory->entry->root_id : 0,
       ", copy=True)");
}

// Orders all work on the memory before later work of the consumer.  The table itself promises no
// synchronisation: a consumer asks for the stream of the device in the struct, which is the root
// device, and uses that stream.  The host has no stream, so there the work is waited for.
void order(const Shared& shared) {
  const Memory& memory = shared.tensor.memory;
  notice_released_queue(memory);
  if (shared.is_host()) {
    memory->wait_for_work();
  } else if (memory->work(How::counters) != Work::none) {
    order_after(entry_at(memory->entry->root_id).queue(), memory);
  }
}

int from_object(void* object, DLManagedTensorVersioned** out) {
  auto* const self = static_cast<PyObject*>(object);
  return guarded(-1, [&] {
    const Shared shared = shareable(self);
    order(shared);
    *out = export_managed<DLManagedTensorVersioned>(shared.tensor, {shared.device});
    return 0;
  });
}

int borrow_from_object(void* object, DLTensor* out) {
  auto* const self = static_cast<PyObject*>(object);
  return guarded(-1, [&] {
    const Shared shared = shareable(self);
    const Tensor& tensor = shared.tensor;
    if (tensor.readonly) {
      fail(Error::Kind::buffer,
           "cannot borrow a read-only tensor as a DLTensor, which has no read-only flag; pass a "
           "copy");
    }
    // A borrowed DLTensor has no deleter, so the consumer never says when it no longer uses it.
    if (shared.is_host()) {
      tensor.memory->note_host_view();
    } else {
      tensor.memory->expose();
    }
    order(shared);
    write_dl_tensor(tensor, shared.device, out);
    return 0;
  });
}

int to_object(DLManagedTensorVersioned* managed, void** out) {
  return guarded(-1, [&] {
    Imported imported = import_managed(managed, {});
    PyObject* type = imported.tensor.on_host ? hooks.host_view_class : hooks.tensor_class;
    *out = wrap_tensor(std::move(imported.tensor), nullptr, reinterpret_cast<PyTypeObject*>(type));
    return *out ? 0 : -1;
  });
}

// The stream for the work of a consumer: the sycl::queue of the entry, as in torch for XPU. For a
// device type of CUDA or ROCm it is a stream of this package.
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
    {dlpack_version, nullptr}, allocate_like,       from_object, to_object,
    borrow_from_object,        current_work_stream,
};

}  // namespace

PyObject* exchange_api_capsule() {
  return PyCapsule_New(const_cast<DLPackExchangeAPI*>(&api), exchange_api_name, nullptr);
}

}  // namespace sycl_ext
