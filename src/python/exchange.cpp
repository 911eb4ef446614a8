// SPDX-License-Identifier: Apache-2.0
#include "python/exchange.hpp"

#include <utility>

#include "python/imports.hpp"
#include "python/producer_class.hpp"

namespace sycl_ext {

namespace {

// The view to pass to a consumer.
PyRef make_view(PyObject* source, const Decision& decision) {
  const Tensor& tensor = tensor_of(source);
  if (decision.view == View::on_host) {
    return PyRef(wrap_tensor(as_host_view(tensor), base_of(source),
                             reinterpret_cast<PyTypeObject*>(hooks.host_view_class)));
  }
  if (decision.waits) tensor.memory->wait_for_work();
  return PyRef(import_object(source, {/*dlpack_only=*/false}));
}

// The result of a library that was handed `view`; nullptr: an exception is set.
PyRef hand_over(PyObject* view, const Decision& decision, const ExchangeRequest& request) {
  PyRef array(PyObject_CallOneArg(decision.call.get(), view));
  if (array && request.copy == Py_False) require_same_memory(array.get(), view);
  return array;
}

// A view of a tensor of ours, if the consumer is the device on which it already is.  Empty: a
// decision is needed.
PyRef view_for_device(PyObject* x, const ExchangeRequest& request) {
  PyObject* const consumer = request.consumer;
  const bool is_device = PyLong_CheckExact(consumer) ||
                         reinterpret_cast<PyObject*>(Py_TYPE(consumer)) == hooks.device_class;
  if (!is_device || request.device != Py_None || hooks.trace || !has_our_dlpack(x)) return nullptr;
  return view_in_place(
      x, {/*dlpack_only=*/false, /*in_place=*/false, request.copy, consumer, request.usm_type});
}

}  // namespace

void require_same_memory(PyObject* array, PyObject* handed) {
  const Tensor& tensor = tensor_of(handed);
  // A capsule can be used once, by the caller.  Without elements there is no address.
  if (PyCapsule_CheckExact(array) || tensor.size() == 0) return;
  const ImportRequest in_place{/*dlpack_only=*/false, /*in_place=*/true, Py_False};
  const PyRef memory(guarded<PyObject*>(nullptr, [&] { return import_object(array, in_place); }));
  if (!memory) {
    (void)take_exception();  // not an array, or its memory cannot be seen
    return;
  }
  if (tensor_of(memory.get()).data == tensor.data) return;
  fail(Error::Kind::copy_refused, "copy=False, but the consumer returned a copy of its argument (",
       Py_TYPE(array)->tp_name, "); pass copy=None, or a function that returns a view");
}

PyObject* exchange(PyObject* x, const ExchangeRequest& request) {
  if (PyRef view = view_for_device(x, request)) return view.release();
  const Decided decided = decide_exchange(x, request);
  const Decision& decision = *decided.decision;
  PyRef refusal(Py_NewRef(Py_None));
  if (decision.view != View::none && !hooks.trace) {
    const PyRef view = make_view(decided.source.get(), decision);
    if (!view || !decision.call) return Py_XNewRef(view.get());
    if (PyRef array = hand_over(view.get(), decision, request)) {
      if (!decision.then) return array.release();
      return PyObject_CallOneArg(decision.then.get(), array.get());
    }
    refusal = take_exception();
  }
  return PyObject_CallFunctionObjArgs(hooks.run_attempts, decided.source.get(),
                                      decision.object.get(), request.copy, refusal.get(), nullptr);
}

}  // namespace sycl_ext
