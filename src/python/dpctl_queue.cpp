// SPDX-License-Identifier: Apache-2.0
#include "python/dpctl_queue.hpp"

#include <utility>

#include "base/error.hpp"
#include "python/tensor_object.hpp"

namespace sycl_ext {

namespace {

// A function of dpctl's C API, which lives as long as the process; nullptr with an exception set.
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

// dpctl is not loaded for that: without it there is none.
bool is_dpctl_queue(PyObject* object) noexcept {
  static PyObject* queue_class = nullptr;
  if (!queue_class) {
    const PyRef dpctl = loaded_module("dpctl");
    queue_class = dpctl ? PyObject_GetAttrString(dpctl.get(), "SyclQueue") : nullptr;
    PyErr_Clear();
  }
  // Of its type, whatever it says that it is: what it holds is followed.
  return queue_class && PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(queue_class));
}

// Every function of dpctl and dpnp notes here what it submits to a queue, and comes after what it
// finds.  https://intelpython.github.io/dpctl/latest/api_reference/dpctl/utils.html
bool add_noted_events(const Queue& queue, std::vector<Event>* events) {
  static PyObject *order = nullptr, *map = nullptr;
  if (!order) {
    const PyRef utils = loaded_module("dpctl.utils");
    if (!utils) return true;  // nobody has noted any
    order = PyObject_GetAttrString(utils.get(), "SequentialOrderManager");
    map = order ? PyObject_GetAttrString(order, "_map") : nullptr;
    if (!map) PyErr_Clear();
    if (!order) return true;  // another thread is importing it
  }
  // Its dictionary, by queues: to make an instance of dpctl.SyclQueue takes longer than all else
  // here, and asked for a queue that it does not know, it would keep that one alive for ever.
  PyObject *known = nullptr, *its_queue, *noted = nullptr;
  if (map && PyContextVar_CheckExact(map)) (void)PyContextVar_Get(map, nullptr, &known);
  const PyRef held(known);
  if (known && PyDict_Check(known)) {
    Py_ssize_t place = 0;
    do {
      if (!PyDict_Next(known, &place, &its_queue, &noted)) return true;
    } while (!is_dpctl_queue(its_queue) || !queue.is_at(address_of_queue(its_queue)));
    Py_INCREF(noted);
  } else {  // another version of dpctl
    const auto make = dpctl_function<PyObject* (*)(const void*)>("SyclQueue_Make");
    const PyRef made(make ? make(queue.share()) : nullptr);
    noted = made ? PyObject_GetItem(order, made.get()) : nullptr;
  }
  const PyRef manager(noted);
  static PyObject* const submitted_events = intern("submitted_events");
  const PyRef submitted(noted ? PyObject_GetAttr(noted, submitted_events) : nullptr);
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
  static const Entry* last = nullptr;  // of most questions
  static PyObject* its_queue = nullptr;
  if (last == &entry) return PyRef(Py_NewRef(its_queue));
  PyRef queue(PyObject_CallFunction(hooks.shared_queue, "i", entry.id));
  if (!queue) throw PythonError();
  last = &entry;
  drop(std::exchange(its_queue, Py_NewRef(queue.get())));
  return queue;
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
    const SavedException pending;  // a destructor asks
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
