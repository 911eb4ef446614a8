// SPDX-License-Identifier: Apache-2.0
#include "python/dpctl_queue.hpp"

#include <cstdint>
#include <optional>

#include "base/error.hpp"
#include "python/tensor_object.hpp"

namespace sycl_ext {

namespace {

Queue fetch(const Entry& entry) {
  const PyRef shared = shared_queue(entry);
  Queue queue = queue_of_dpctl(shared.get());
  if (!queue) fail(Error::Kind::runtime, "dpctl.get_device_cached_queue returned no SyclQueue");
  return queue;
}

// Python's thread state for a thread that does not hold the GIL.
class TakenGil {
 public:
  TakenGil() : state_(hang_at_thread_end([] { return PyGILState_Ensure(); })) {}
  ~TakenGil() { PyGILState_Release(state_); }
  TakenGil(const TakenGil&) = delete;
  TakenGil& operator=(const TakenGil&) = delete;

 private:
  const PyGILState_STATE state_;
};

// Whose address is asked for: the object of a class of dpctl.  0: an exception is set.
std::uintptr_t address_in(PyObject* object) {
  const PyRef address(in_python([=] { return PyObject_CallMethod(object, "addressof_ref", ""); }));
  return address ? reinterpret_cast<std::uintptr_t>(PyLong_AsVoidPtr(address.get())) : 0;
}

// The function of dpctl's C API that makes a SyclQueue; nullptr with an exception set: none is.
PyObject* make_dpctl_queue(const void* queue) {
  using Make = PyObject* (*)(const void*);
  static Make make = nullptr;
  if (!make) {
    const PyRef module(in_python([] { return PyImport_ImportModule("dpctl._sycl_queue"); }));
    const PyRef api(module ? PyObject_GetAttrString(module.get(), "__pyx_capi__") : nullptr);
    const PyRef capsule(api ? PyMapping_GetItemString(api.get(), "SyclQueue_Make") : nullptr);
    if (!capsule) return nullptr;
    make = reinterpret_cast<Make>(
        PyCapsule_GetPointer(capsule.get(), PyCapsule_GetName(capsule.get())));
    if (!make) return nullptr;
  }
  return make(queue);
}

// Every function of dpctl and dpnp notes here what it submits to a queue, and comes after what it
// finds.  https://intelpython.github.io/dpctl/latest/api_reference/dpctl/utils.html
bool add_noted_events(const void* queue, const std::function<void(const void*)>& add) {
  const PyRef name(PyUnicode_FromString("dpctl.utils"));
  const PyRef utils(name ? PyImport_GetModule(name.get()) : nullptr);
  if (!utils) return !PyErr_Occurred();  // nobody has noted any
  const PyRef order(PyObject_GetAttrString(utils.get(), "SequentialOrderManager"));
  if (!order) {  // another thread is importing it
    PyErr_Clear();
    return true;
  }
  const PyRef its_queue(make_dpctl_queue(queue));
  if (!its_queue) return false;
  // Asked for a queue that it does not know, it would keep that one alive for ever.
  const PyRef map(PyObject_GetAttrString(order.get(), "_map"));
  const PyRef known(map ? in_python([&] { return PyObject_CallMethod(map.get(), "get", ""); })
                        : nullptr);
  const int is_known = known ? PySequence_Contains(known.get(), its_queue.get()) : 1;
  if (!known) PyErr_Clear();
  if (is_known <= 0) return is_known == 0;
  const PyRef noted(in_python([&] { return PyObject_GetItem(order.get(), its_queue.get()); }));
  if (!noted) return false;
  const PyRef events(
      in_python([&] { return PyObject_GetAttrString(noted.get(), "submitted_events"); }));
  if (!events) return false;
  const PyRef list(PySequence_Fast(events.get(), "submitted_events is no sequence"));
  if (!list) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i) {
    const std::uintptr_t address = address_in(PySequence_Fast_GET_ITEM(list.get(), i));
    if (address == 0) return false;
    add(reinterpret_cast<const void*>(address));
  }
  return true;
}

void event_source(const void* queue, const std::function<void(const void*)>& add) {
  if (!python_is_alive()) return;
  std::optional<TakenGil> taken;
  bool is_raised = ReleasedGil::current();  // what a signal handler raises in there
  if (holds_gil()) {
    is_raised = true;
  } else {
    taken.emplace();
  }
  if (is_raised && !PyErr_Occurred()) {
    if (add_noted_events(queue, add)) return;
    throw PythonError();
  }
  const SavedException pending;  // a destructor asks
  if (add_noted_events(queue, add)) return;
  PyErr_WriteUnraisable(Py_None);
  fail(Error::Kind::runtime, "dpctl did not say which work is pending on a queue");
}

Queue queue_source(const Entry& entry) {
  if (holds_gil()) return fetch(entry);
  if (!python_is_alive()) {
    fail(Error::Kind::runtime, "the interpreter is gone, and the queue of device ", entry.id,
         " was not fetched before");
  }
  const TakenGil taken;
  try {
    return fetch(entry);
  } catch (const PythonError&) {  // nobody sees a Python exception of this thread
    PyErr_Clear();
    fail(Error::Kind::runtime, "dpctl gave no queue for device ", entry.id, " ('", entry.name,
         "')");
  }
}

}  // namespace

PyRef shared_queue(const Entry& entry) {
  PyRef queue(
      in_python([&] { return PyObject_CallFunction(hooks().shared_queue, "i", entry.id); }));
  if (!queue) throw PythonError();
  return queue;
}

Queue queue_of_dpctl(PyObject* object) {
  const PyRef address(
      in_python([&] { return PyObject_CallOneArg(hooks().queue_address, object); }));
  if (!address) throw PythonError();
  if (address.get() == Py_None) return Queue();
  void* const at = PyLong_AsVoidPtr(address.get());
  if (!at) throw PythonError();
  return Queue::from_address(at);
}

void ask_dpctl() noexcept {
  set_queue_source(queue_source);
  set_event_source(event_source);
}

}  // namespace sycl_ext
