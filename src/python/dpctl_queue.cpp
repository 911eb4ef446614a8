// SPDX-License-Identifier: Apache-2.0
#include "python/dpctl_queue.hpp"

#include <utility>

#include "base/error.hpp"
#include "python/bind.hpp"

namespace sycl_ext {

namespace {

// dpctl's functions are compiled with hooks for profilers and debuggers, and crash if a hook is
// removed while they make the frame that it receives (the collector runs then, and a hook that
// raises is removed).  So they are called with HooksOff.  They run Python all the same: each can
// raise any exception, of a signal handler as well, and whatever is used after it is owned first.

void throw_if_raised() {
  if (PyErr_Occurred()) throw PythonError();
}

// The result of a call of the Python C API.
PyRef checked(PyObject* object) {
  PyRef result(object);
  throw_if_raised();
  if (!result) fail(Error::Kind::runtime, "dpctl returned NULL without an exception");
  return result;
}
const void* checked(const void* address) {
  throw_if_raised();
  if (!address) fail(Error::Kind::runtime, "dpctl returned a NULL address");
  return address;
}

// A function of dpctl's C API, which is valid as long as the process.
// https://intelpython.github.io/dpctl/latest/api_reference/dpctl_capi.html
template <class Function>
Function dpctl_function(const char* name) {
  const PyRef module = checked(PyImport_ImportModule("dpctl._sycl_queue"));
  const PyRef api = checked(PyObject_GetAttrString(module.get(), "__pyx_capi__"));
  const PyRef capsule = checked(PyMapping_GetItemString(api.get(), name));
  const char* const signature = PyCapsule_GetName(capsule.get());
  return reinterpret_cast<Function>(
      const_cast<void*>(checked(PyCapsule_GetPointer(capsule.get(), signature))));
}

// The address of the `sycl::queue` in a dpctl.SyclQueue.
const void* address_of_queue(PyObject* object) {
  using Get = const void* (*)(PyObject*);
  static Get get = nullptr;
  if (!get) get = dpctl_function<Get>("SyclQueue_GetQueueRef");
  const HooksOff hooks_off;
  return checked(get(object));
}

// A new dpctl.SyclQueue of the `sycl::queue` at an address.
PyRef make_dpctl_queue(const void* address) {
  using Make = PyObject* (*)(const void*);
  static Make make = nullptr;
  if (!make) make = dpctl_function<Make>("SyclQueue_Make");
  const HooksOff hooks_off;
  return checked(make(address));
}

// An attribute of a module that another thread may be importing: empty if it is not there yet.
PyRef attribute_if_any(const PyRef& module, const char* name) {
  PyRef value(module ? PyObject_GetAttrString(module.get(), name) : nullptr);
  if (module && !value) (void)take_exception();
  return value;
}

// Whether an object is a dpctl.SyclQueue.  dpctl is not loaded for this question: without dpctl
// such objects do not exist.
bool is_dpctl_queue(PyObject* object) {
  static PyObject* queue_class = nullptr;
  if (!queue_class) queue_class = attribute_if_any(loaded_module("dpctl"), "SyclQueue").release();
  // The real type counts, whatever class the object claims, because the address in the object is
  // used.
  return queue_class && PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(queue_class));
}

// The manager of a queue in the dictionary of all managers; empty: the queue has none.  The
// lookup compares addresses.  Making an instance of dpctl.SyclQueue for it would take longer than
// all other steps here, and dpctl would keep an unknown queue alive for ever.
PyRef manager_of(PyObject* managers, const Queue& queue) {
  const PyRef copy = checked(PyDict_Copy(managers));  // other code may change theirs meanwhile
  PyObject *key = nullptr, *manager = nullptr;
  Py_ssize_t place = 0;
  while (PyDict_Next(copy.get(), &place, &key, &manager)) {
    if (is_dpctl_queue(key) && queue.is_at(address_of_queue(key))) return PyRef(Py_NewRef(manager));
  }
  return nullptr;
}

// The events that a manager notes.  Its property `submitted_events` is Python code, in which the
// handler of a signal may run and raise, and a wait that no signal ends, such as that of a buffer
// request, has nobody to give the exception to.  The C++ object behind the property runs none.
PyRef events_noted_by(PyObject* manager) {
  static PyObject *const state = intern("_state"),
                         *const get_submitted_events = intern("get_submitted_events"),
                         *const submitted_events = intern("submitted_events");
  const PyRef keeper(PyObject_GetAttr(manager, state));
  if (keeper) return checked(PyObject_CallMethodNoArgs(keeper.get(), get_submitted_events));
  (void)take_exception();  // another version of dpctl
  return checked(PyObject_GetAttr(manager, submitted_events));
}

// Adds the events of dpctl's order manager: every function of dpctl and dpnp notes there what it
// submits to a queue, and orders its work after the events that it finds.
// https://intelpython.github.io/dpctl/latest/api_reference/dpctl/utils.html
void add_noted_events(const Queue& queue, std::vector<Event>* events) {
  const HooksOff hooks_off;
  static PyObject *order = nullptr, *map = nullptr;
  if (!order) {
    PyRef all = attribute_if_any(loaded_module("dpctl.utils"), "SequentialOrderManager");
    if (!all) return;  // no code has noted an event
    map = attribute_if_any(all, "_map").release();
    order = all.release();
  }
  PyRef managers, manager;
  if (map && PyContextVar_CheckExact(map)) {
    PyObject* value = nullptr;
    (void)PyContextVar_Get(map, nullptr, &value);
    managers.reset(value);
    throw_if_raised();
  }
  if (managers && PyDict_Check(managers.get())) {
    manager = manager_of(managers.get(), queue);
    if (!manager) return;
  } else {  // another version of dpctl
    manager = checked(PyObject_GetItem(order, make_dpctl_queue(queue.share()).get()));
  }
  const PyRef noted = checked(PySequence_Tuple(events_noted_by(manager.get()).get()));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(noted.get()); ++i) {
    PyObject* const event = PyTuple_GET_ITEM(noted.get(), i);
    const PyRef address = checked(PyObject_CallMethod(event, "addressof_ref", nullptr));
    events->push_back(Event::from_address(checked(PyLong_AsVoidPtr(address.get()))));
  }
}

// The shared queue of an entry as a Python object.  One that is not of this package is dpctl's.
PyRef queue_object(const Queue& queue) {
  return queue.is_ours() ? PyRef(py::cast(queue).release().ptr()) : make_dpctl_queue(queue.share());
}

}  // namespace

PyRef shared_queue(const Entry& entry) {
  static const Entry* last_entry = nullptr;  // most calls are about the same one
  static PyObject* last_queue = nullptr;
  const Queue& shared = entry.queue();
  if (last_entry == &entry && !shared.is_ours()) return PyRef(Py_NewRef(last_queue));
  PyRef queue = queue_object(shared);
  if (shared.is_ours()) return queue;
  last_entry = &entry;
  drop(std::exchange(last_queue, Py_NewRef(queue.get())));
  return queue;
}

PyRef shown_queue(const Entry& entry) {
  const Queue& shared = entry.queue();
  void*& shown = entry.shown_queues[shared.is_ours() ? 0 : 1];
  if (!shown) {
    PyRef made = queue_object(shared);
    if (!shown) shown = made.release();
  }
  return PyRef(Py_NewRef(static_cast<PyObject*>(shown)));
}

void notice_released_queue(const Memory& memory) noexcept {
  if (!memory->use.is_queue_shown() || memory->own_queue) return;
  for (void* const shown : memory->entry->shown_queues) {
    if (shown && Py_REFCNT(static_cast<PyObject*>(shown)) > 1) return;
  }
  memory->use.take_queue_back();
}

Queue queue_of_dpctl(PyObject* object) {
  if (!is_dpctl_queue(object)) return Queue();
  return Queue::from_address(address_of_queue(object));
}

void find_events_of_dpctl(const Queue& queue, std::vector<Event>* events) {
  const auto ask = [&] {
    if (!PyErr_Occurred()) {
      add_noted_events(queue, events);
      return true;
    }
    const SavedException pending;  // the caller is a destructor, which may not lose it
    try {
      add_noted_events(queue, events);
      return true;
    } catch (const PythonError&) {
      PyErr_WriteUnraisable(Py_None);
    }
    return false;
  };
  if (with_gil(ask, [] { return !python_is_alive(); })) return;
  fail(Error::Kind::runtime, "dpctl returned no events for the pending work of a queue");
}

Queue cached_queue_of_dpctl(const Entry& entry) {
  const auto fetch = [&] {
    // As long as there is no dpctl, each question about the work of other code comes here, perhaps
    // of a destructor with an exception pending.
    if (entry.fetched_queue() && (PyErr_Occurred() || !loaded_module("dpctl"))) return Queue();
    const PyRef object = checked(PyObject_CallFunction(hooks.queue_of_dpctl, "i", entry.id));
    if (object.get() == Py_None) return Queue();
    Queue queue = queue_of_dpctl(object.get());
    if (!queue) {
      fail(Error::Kind::runtime, "dpctl.get_device_cached_queue did not return a SyclQueue");
    }
    return queue;
  };
  return with_gil(fetch, [&]() -> Queue {
    if (entry.fetched_queue()) return Queue();
    fail(Error::Kind::runtime, "dpctl returned no queue for device ", entry.id, " ('", entry.name,
         "'), or the interpreter is shutting down");
  });
}

}  // namespace sycl_ext
