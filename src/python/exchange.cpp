// SPDX-License-Identifier: Apache-2.0
#include "python/exchange.hpp"

#include <utility>

#include "python/imports.hpp"
#include "python/producer_class.hpp"

namespace sycl_ext {

namespace {

// The object to pass to a consumer, or the result if a device is the consumer.
PyRef make_object(PyObject* source, const Decision& decision) {
  const Tensor& tensor = tensor_of(source);
  switch (decision.form) {
    case Form::host_view:
      return PyRef(wrap_tensor(as_host_view(tensor), base_of(source),
                               reinterpret_cast<PyTypeObject*>(hooks.host_view_class)));
    case Form::on_device:
      return PyRef(
          import_object(source, {/*dlpack_only=*/false, /*in_place=*/false, decision.copy.get(),
                                 decision.device.get(), decision.usm_type.get()}));
    default:
      if (decision.waits) tensor.memory->wait_for_work();
      return PyRef(import_object(source, {/*dlpack_only=*/false}));
  }
}

// The result of the consumer; nullptr: an exception is set.
PyObject* hand_over(PyObject* object, const Decision& decision) {
  PyRef made(PyObject_CallOneArg(decision.call.get(), object));
  if (!made || !decision.then) return made.release();
  if (PyType_Check(decision.then.get())) {  // a class whose instance the array is already
    const int is_one = PyObject_IsInstance(made.get(), decision.then.get());
    if (is_one != 0) return is_one > 0 ? made.release() : nullptr;
  }
  return PyObject_CallOneArg(decision.then.get(), made.get());
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

PyObject* exchange(PyObject* x, const ExchangeRequest& request) {
  if (PyRef view = view_for_device(x, request)) return view.release();
  const Decided decided = decide_exchange(x, request);
  const Decision& decision = *decided.decision;
  const auto carry_out = [&](PyObject* refusal) {
    return PyObject_CallFunctionObjArgs(exchange_hooks.carry_out, decided.source.get(),
                                        decision.object.get(), request.copy, refusal, nullptr);
  };
  if (decision.form == Form::python || hooks.trace) return carry_out(Py_None);
  PyRef object = make_object(decided.source.get(), decision);
  if (!object || !decision.call) return object.release();
  if (PyObject* const result = hand_over(object.get(), decision)) return result;
  const PyRef refusal = take_exception();
  object.reset();
  return carry_out(refusal.get());
}

}  // namespace sycl_ext
