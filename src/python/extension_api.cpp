// SPDX-License-Identifier: Apache-2.0
#include "python/extension_api.hpp"

#include <sycl_ext/c_api.h>

#include <cstdio>
#include <memory>
#include <new>
#include <utility>

#include "base/error.hpp"
#include "python/deleters.hpp"
#include "python/imports.hpp"
#include "runtime/memory/usm_pointers.hpp"
#include "runtime/sycl/runtimes.hpp"
#include "tensor/copy.hpp"

namespace sycl_ext {

namespace {

static_assert(sycl_ext_root == static_cast<int>(EntryKind::root));
static_assert(sycl_ext_sub_device == static_cast<int>(EntryKind::sub_device));
static_assert(sycl_ext_private_context == static_cast<int>(EntryKind::context));
static_assert(sycl_ext_usm_device == static_cast<int>(UsmKind::device));
static_assert(sycl_ext_usm_shared == static_cast<int>(UsmKind::shared));
static_assert(sycl_ext_usm_host == static_cast<int>(UsmKind::host));
static_assert(sycl_ext_usm_system == static_cast<int>(UsmKind::system));
static_assert(sycl_ext_buffer_error == static_cast<int>(Error::Kind::buffer));
static_assert(sycl_ext_copy_refused == static_cast<int>(Error::Kind::copy_refused));
static_assert(sycl_ext_type_error == static_cast<int>(Error::Kind::type));
static_assert(sycl_ext_value_error == static_cast<int>(Error::Kind::value));
static_assert(sycl_ext_index_error == static_cast<int>(Error::Kind::index));
static_assert(sycl_ext_memory_error == static_cast<int>(Error::Kind::memory));
static_assert(sycl_ext_sycl_error == static_cast<int>(Error::Kind::runtime));

const void* require_object(const void* address, const char* what) {
  if (!address) fail(Error::Kind::value, "the address of the ", what, " is NULL");
  return address;
}

// ---- the device table ---------------------------------------------------------------------------

// Runs `body`, which does not use Python.  Its exceptions become `error`.
template <class Result, class Body>
Result answered(sycl_ext_error* error, Result failed, Body&& body) noexcept {
  try {
    return body();
  } catch (...) {
    tell_exception([error](Error::Kind kind, const char* text) {
      if (!error) return;
      error->kind = static_cast<std::int32_t>(kind);
      std::snprintf(error->message, sizeof error->message, "%s", text);
    });
  }
  return failed;
}

std::int32_t count_entries() { return answered<std::int32_t>(nullptr, 0, entry_count); }
std::int32_t count_roots() { return answered<std::int32_t>(nullptr, 0, root_count); }

std::int32_t get_entry(std::int32_t id, sycl_ext_entry* out, sycl_ext_error* error) {
  return answered(error, -1, [&] {
    const Entry& entry = entry_at(id);
    *out = {entry.id,
            entry.root_id,
            entry.parent ? entry.parent->id : -1,
            static_cast<std::int32_t>(entry.kind),
            entry.default_context,
            entry.host_memory,
            entry.device_address(),
            entry.context_address()};
    return 0;
  });
}

std::int32_t get_default_entry(sycl_ext_error* error) {
  return answered(error, -1, [] { return default_entry().id; });
}

const void* queue_of_entry(std::int32_t id, sycl_ext_error* error) {
  return answered<const void*>(error, nullptr,
                               [&] { return entry_at(id).extension_queue().share(); });
}

std::int32_t id_of_pair(const void* device, const void* context, sycl_ext_error* error) {
  return answered(error, -1, [&] {
    require_object(device, "device");
    require_object(context, "context");
    return entry_of(device, context).id;
  });
}

std::int32_t id_of_device(const void* device, sycl_ext_error* error) {
  return answered(error, -1, [&] { return entry_of_device(require_object(device, "device")).id; });
}

std::int32_t id_of_queue(const void* queue, sycl_ext_error* error) {
  return answered(error, -1,
                  [&] { return entry_of(Queue::from_address(require_object(queue, "queue"))).id; });
}

std::int32_t id_of_pointer(const void* pointer, std::int32_t* usm_kind, sycl_ext_error* error) {
  return answered(error, -2, [&] {
    UsmKind kind;
    const Entry* const entry = find_owner(pointer, &kind);
    if (!entry) return -1;
    if (usm_kind) *usm_kind = static_cast<std::int32_t>(kind);
    return entry->id;
  });
}

// ---- memory -------------------------------------------------------------------------------------

// The queue to which an extension submits work on a view.  It is in order, so all work of the
// extension, including host tasks, can be waited for, and comes after the work that was pending
// when the view was made.
const Queue& queue_for_views(const Allocation& memory) {
  return memory.own_queue ? memory.own_queue : memory.entry->extension_queue();
}

// The state of a view that an extension uses.
struct ViewOwner {
  const Tensor tensor;
  const InUse use;
};

// The copy= of Python for the value in the table: 1, 0, or -1 for None.
PyObject* copy_argument(std::int32_t copy) noexcept {
  if (copy < 0) return Py_None;
  return copy ? Py_True : Py_False;
}

PyObject* as_tensor(PyObject* object, std::int32_t entry, std::int32_t copy) {
  if (entry < 0 && copy != 1 &&
      reinterpret_cast<PyObject*>(Py_TYPE(object)) == hooks.tensor_class) {
    return Py_NewRef(object);
  }
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    const PyRef device(entry < 0 ? Py_NewRef(Py_None)
                                 : Py_BuildValue("(ii)", static_cast<int>(kDLOneAPI), entry));
    if (!device) return nullptr;
    ImportRequest request{/*dlpack_only=*/false};
    request.copy = copy_argument(copy);
    request.device = device.get();
    return import_object(object, request);
  });
}

std::int32_t view_of(PyObject* object, sycl_ext_view* out) {
  return guarded(-1, [&] {
    const Tensor& tensor = tensor_of(object);
    const Allocation& memory = *tensor.memory;
    if (!memory.entry) {
      fail(Error::Kind::type, "an object of type ", Py_TYPE(object)->tp_name,
           " is in host memory, so it has no SYCL device; pass sycl_ext.as_tensor(x)");
    }
    memory.fetch_queues();
    order_after(queue_for_views(memory), tensor.memory);
    auto* const owner = new ViewOwner{tensor, {tensor.memory, /*submits=*/true}};
    const Layout& layout = owner->tensor.layout;
    *out = {tensor.size() == 0 ? nullptr : tensor.data,
            layout.shape(),
            layout.strides(),
            layout.ndim(),
            tensor.dtype->code,
            tensor.dtype->bits,
            1,
            memory.entry->id,
            static_cast<std::int32_t>(memory.kind),
            tensor.readonly,
            owner};
    return 0;
  });
}

const DType& dtype_of(const sycl_ext_view& view) {
  return dtype_from_dlpack({view.dtype_code, view.dtype_bits, view.dtype_lanes});
}

// The queue for work on memory of an entry; empty: NULL.
Queue queue_at(const void* address, const Entry& entry) {
  if (!address) return Queue();
  Queue queue = Queue::from_address(address);
  const int queue_id = entry_of(queue).id;
  if (queue_id != entry.id) {
    fail(Error::Kind::value, "the queue is on device ", queue_id, ", but the memory is on device ",
         entry.id, "; pass a queue of that device and context, or NULL for its own");
  }
  return queue;
}

// An owner that calls `release(owner)` once, at its end.  Both may be NULL, and the function may be
// Python.
Owner owner_of(void* owner, void (*release)(void*)) {
  using Kept = std::pair<void*, void (*)(void*)>;
  // The garbage collector recognises a Python object by this function.
  if (!release || release == release_python_object) return {release ? owner : nullptr, release};
  auto* const kept = new (std::nothrow) Kept(owner, release);
  if (!kept) {
    call_deleter_of_others(release, owner);
    fail(Error::Kind::memory, "cannot allocate the owner of a view");
  }
  return Owner(kept, [](void* state) {
    const std::unique_ptr<Kept> mine(static_cast<Kept*>(state));
    call_deleter_of_others(mine->second, mine->first);
  });
}

PyObject* wrap(const sycl_ext_view* view, const void* queue, void* owner,
               void (*release)(void* owner)) {
  return guarded<PyObject*>(nullptr, [&] {
    Owner keep = owner_of(owner, release);
    const DType& dtype = dtype_of(*view);
    const Entry& entry = entry_at(view->entry);
    return wrap_tensor(
        borrow_usm(static_cast<std::byte*>(view->data), dtype,
                   read_layout(view->ndim, view->shape, Order::c, dtype.itemsize(), view->strides),
                   entry, view->readonly != 0, std::move(keep), queue_at(queue, entry)),
        nullptr);
  });
}

PyObject* make(const sycl_ext_view* view, const void* queue) {
  return guarded<PyObject*>(nullptr, [&] {
    if (view->usm_kind < 0 || view->usm_kind > sycl_ext_usm_host) {
      fail(Error::Kind::value, "usm_kind is ", view->usm_kind,
           "; it must be 0 (device), 1 (shared) or 2 (host)");
    }
    const DType& dtype = dtype_of(*view);
    const Layout layout = read_layout(view->ndim, view->shape, Order::c, dtype.itemsize());
    const Entry& entry = entry_at(view->entry);
    return wrap_tensor(make_tensor(entry, static_cast<UsmKind>(view->usm_kind), dtype, layout,
                                   queue_at(queue, entry)),
                       nullptr);
  });
}

const void* queue_of_owner(void* owner) {
  return queue_for_views(*static_cast<const ViewOwner*>(owner)->tensor.memory).share();
}

// Waits for the extension's work on host memory before the memory is released, because the owner of
// host memory reads it without asking a queue.  A thread without the GIL does not wait: it may be a
// thread of the runtime, in a host task that this work waits for.
void release_owner(void* owner) {
  const std::unique_ptr<ViewOwner> view(static_cast<ViewOwner*>(owner));
  const Memory& memory = view->tensor.memory;
  if (memory->kind != UsmKind::system || !holds_gil()) return;
  try {
    wait_without_signals(memory);
  } catch (...) {  // a deleter never raises; the next wait for the queue raises the error
  }
}

const sycl_ext_api table{
    sycl_ext_api_major,
    sizeof(sycl_ext_api),
    count_entries,
    count_roots,
    get_entry,
    get_default_entry,
    queue_of_entry,
    id_of_pair,
    id_of_device,
    id_of_queue,
    id_of_pointer,
    as_tensor,
    view_of,
    wrap,
    make,
    queue_of_owner,
    release_owner,
    release_python_object,
    libsycl_major(),
};

}  // namespace

PyObject* extension_api_capsule() {
  return PyCapsule_New(const_cast<sycl_ext_api*>(&table), "sycl_ext._C_API", nullptr);
}

}  // namespace sycl_ext
