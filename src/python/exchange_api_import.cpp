// SPDX-License-Identifier: Apache-2.0
#include "python/exchange_api_import.hpp"

#include <utility>

#include "runtime/devices/dl_device.hpp"
#include "runtime/sycl/runtimes.hpp"
#include "runtime/sycl/untrusted.hpp"

namespace sycl_ext {

namespace {

// Whether a torch tensor requires autograd, or is conjugated or negated lazily.  torch's table
// (2.13) refuses none of these: it exports the memory as it is, which is wrong data for the lazy
// bits, and bypasses autograd.  torch's __dlpack__ refuses the first two.
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

std::optional<Imported> import_through_api(PyObject* x, const ProducerClass& producer,
                                           ImportOptions options) {
  const DLPackExchangeAPI* const table = producer.table;
  const bool may_be_lazy = producer.facts & ProducerClass::has_lazy_state;
  if (!table || (may_be_lazy && has_lazy_state(x))) return std::nullopt;
  DLManagedTensorVersioned* managed = nullptr;
  const int failed =
      hang_at_thread_end([&] { return table->managed_tensor_from_py_object_no_sync(x, &managed); });
  Owner owner(failed ? nullptr : managed, call_deleter<DLManagedTensorVersioned>);
  // An exception means failure, whatever the function returned.  It is dropped, because the Python
  // protocol describes the failure.
  const auto has_raised = [] {
    if (!PyErr_Occurred()) return false;
    (void)take_exception();
    return true;
  };
  if (has_raised() || !owner) return std::nullopt;
  // Fake, distributed and functional tensors of torch have no memory.  The Python protocol says
  // which kind it is.
  if (!managed->dl_tensor.data && may_be_lazy) return std::nullopt;
  const int type = static_cast<int>(managed->dl_tensor.device.device_type);
  if ((type == kDLOneAPI && has_other_libsycl()) || resolve(managed->dl_tensor.device).kind) {
    // The work stream may belong to another SYCL runtime, or not be a queue.  The Python protocol
    // asks for complete data, or orders the work.
    return std::nullopt;
  }
  Queue queue;
  if (type == kDLOneAPI) {
    // The table promises no synchronisation, so reads of the memory wait for the producer's queue.
    void* stream = nullptr;
    const int id = managed->dl_tensor.device.device_id;
    const bool has_stream = table->current_work_stream(kDLOneAPI, id, &stream) == 0 && stream;
    // Without an order the view would be read too early.  The Python protocol has an order.
    if (has_raised() || !has_stream) return std::nullopt;
    queue = queue_at_untrusted(stream);
    options.queue = &queue;
  }
  (void)owner.release();
  return import_managed(managed, options);
}

}  // namespace sycl_ext
