// SPDX-License-Identifier: Apache-2.0
#include "python/dpctl_queue.hpp"

#include <utility>

#include "base/error.hpp"
#include "python/tensor_object.hpp"

namespace sycl_ext {

namespace {

// A function of dpctl's C API, which is valid as long as the process; nullptr: an exception is set.
// https://intelpython.github.io/dpctl/latest/api_reference/dpctl_capi.html
template <class Function>
Function dpctl_function(const char* name) {
  const PyRef module(PyImport_ImportModule("dpctl._sycl_queue"));
  const PyRef api(module ? PyObject_GetAttrString(module.get(), "__pyx_capi__") : nullptr);
  const PyRef capsule(api ? PyMapping_GetItemString(api.get(), name) : nullptr);
  if (!capsule) return nullptr;
  return reinterpret_cast<Function>(
      PyCapsule_GetPointer(capsule.get(), PyCapsule_GetName(capsule.get())));
}

// The address of the `sycl::queue` in a dpctl.SyclQueue; nullptr with an exception set.
const void* address_of_queue(PyObject* object) {
  using Get = const void* (*)(PyObject*);
  static Get get = nullptr;
  if (!get) get = dpctl_function<Get>("SyclQueue_GetQueueRef");
  return get ? get(object) : nullptr;
}

// Whether an object is a dpctl.SyclQueue.  dpctl is not loaded for this question: without dpctl
// such objects do not exist.
bool is_dpctl_queue(PyObject* object) noexcept {
  static PyObject* queue_class = nullptr;
  if (!queue_class) {
    const PyRef dpctl = loaded_module("dpctl");
    queue_class = dpctl ? PyObject_GetAttrString(dpctl.get(), "SyclQueue") : nullptr;
    PyErr_Clear();
  }
  // The real type counts, whatever class the object claims, because the address in the object is
  // used.
  return queue_class && PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(queue_class));
}

// The manager of a queue in the dictionary of all managers; nullptr: the queue has none.  The
// lookup compares addresses.  Making an instance of dpctl.SyclQueue for it would take longer than
// all other steps here, and dpctl would keep an unknown queue alive for ever.
PyRef manager_of(PyObject* managers, const Queue& queue) {
  PyObject *key = nullptr, *manager = nullptr;
  Py_ssize_t place = 0;
  while (PyDict_Next(managers, &place, &key, &manager)) {
    if (is_dpctl_queue(key) && queue.is_at(address_of_queue(key))) return PyRef(Py_NewRef(manager));
  }
  return nullptr;
}

// Adds the events of dpctl's order manager: every function of dpctl and dpnp notes there what it
// submits to a queue, and orders its work after the events that it finds.
// https://intelpython.github.io/dpctl/latest/api_reference/dpctl/utils.html
bool add_noted_events(const Queue& queue, std::vector<Event>* events) {
  static PyObject *order = nullptr, *map = nullptr;
  if (!order) {
    const PyRef utils = loaded_module("dpctl.utils");
    if (!utils) return true;  // no code has noted an event
    order = PyObject_GetAttrString(utils.get(), "SequentialOrderManager");
    map = order ? PyObject_GetAttrString(order, "_map") : nullptr;
    if (!map) PyErr_Clear();
    if (!order) return true;  // another thread is importing the module
  }
  PyObject* managers = nullptr;
  if (map && PyContextVar_CheckExact(map)) (void)PyContextVar_Get(map, nullptr, &managers);
  const PyRef held(managers);
  PyRef manager;
  if (managers && PyDict_Check(managers)) {
    manager = manager_of(managers, queue);
    if (!manager) return true;
  } else {  // another version of dpctl
    const auto make = dpctl_function<PyObject* (*)(const void*)>("SyclQueue_Make");
    const PyRef made(make ? make(queue.share()) : nullptr);
    if (made) manager.reset(PyObject_GetItem(order, made.get()));
  }
  static PyObject* const submitted_events = intern("submitted_events");
  const PyRef submitted(manager ? PyObject_GetAttr(manager.get(), submitted_events) : nullptr);
  if (!submitted) return false;
  const PyRef list(PySequence_Fast(submitted.get(), "submitted_events is not a sequence"));
  if (!list) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i) {
    PyObject* const event = PySequence_Fast_GET_ITEM(list.get(), i);
    const PyRef address(PyObject_CallMethod(event, "addressof_ref", ""));
    if (!address) return false;
    events->push_back(Event::from_address(PyLong_AsVoidPtr(address.get())));
  }
  return true;
}

}  // namespace

PyRef shared_queue(const Entry& entry) {
  static const Entry* last_entry = nullptr;  // most calls are about the same one
  static PyObject* last_queue = nullptr;
  if (last_entry == &entry) return PyRef(Py_NewRef(last_queue));
  PyRef queue(PyObject_CallFunction(hooks.shared_queue, "i", entry.id));
  if (!queue) throw PythonError();
  last_entry = &entry;
  drop(std::exchange(last_queue, Py_NewRef(queue.get())));
  return queue;
}

PyRef shown_queue(const Entry& entry) {
  if (!entry.python_side) {
    using Make = PyObject* (*)(const void*);
    const PyRef shared = shared_queue(entry);
    const void* const address = address_of_queue(shared.get());
    const auto make = address ? dpctl_function<Make>("SyclQueue_Make") : nullptr;
    PyRef made(make ? make(address) : nullptr);
    if (!made) throw PythonError();
    if (entry.python_side) return PyRef(Py_NewRef(static_cast<PyObject*>(entry.python_side)));
    entry.python_side = made.release();
  }
  return PyRef(Py_NewRef(static_cast<PyObject*>(entry.python_side)));
}

void notice_released_queue(const Memory& memory) noexcept {
  if (!memory->use.is_queue_shown() || memory->own_queue) return;
  auto* const queue = static_cast<PyObject*>(memory->entry->python_side);
  if (queue && Py_REFCNT(queue) == 1) memory->use.take_queue_back();
}

Queue queue_of_dpctl(PyObject* object) {
  if (!is_dpctl_queue(object)) return Queue();
  const void* const address = address_of_queue(object);
  if (!address) throw PythonError();
  return Queue::from_address(address);
}

static void find_events_of_dpctl(const Queue& queue, std::vector<Event>* events) {
  const auto ask = [&] {
    if (!PyErr_Occurred()) {
      if (!add_noted_events(queue, events)) throw PythonError();
      return true;
    }
    const SavedException pending;  // the caller is a destructor, which may not lose it
    if (add_noted_events(queue, events)) return true;
    PyErr_WriteUnraisable(Py_None);
    return false;
  };
  if (with_gil(ask, [] { return !python_is_alive(); })) return;
  fail(Error::Kind::runtime, "dpctl did not return the pending work of a queue");
}

static Queue shared_queue_without_gil(const Entry& entry) {
  const auto fetch = [&] {
    Queue queue = queue_of_dpctl(shared_queue(entry).get());
    if (!queue) fail(Error::Kind::runtime, "dpctl.get_device_cached_queue returned no SyclQueue");
    return queue;
  };
  return with_gil(fetch, [&]() -> Queue {
    fail(Error::Kind::runtime, "dpctl returned no queue for device ", entry.id, " ('", entry.name,
         "'), or the interpreter has ended");
  });
}

void answer_for_dpctl() noexcept {
  shared_queue_of = shared_queue_without_gil;
  find_noted_events = find_events_of_dpctl;
}

}  // namespace sycl_ext
