// SPDX-License-Identifier: Apache-2.0
#include "python/dpctl_queue.hpp"

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

void fetch_queues_from_dpctl() noexcept { set_queue_source(queue_source); }

}  // namespace sycl_ext
