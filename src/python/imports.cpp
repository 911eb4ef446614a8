// SPDX-License-Identifier: Apache-2.0
#include "python/imports.hpp"

#include <array>
#include <climits>
#include <cstdint>
#include <utility>

#include "base/error.hpp"
#include "python/dpctl_queue.hpp"
#include "python/exchange_api_import.hpp"
#include "python/host_arrays.hpp"
#include "runtime/devices/device_table.hpp"
#include "runtime/sycl/runtimes.hpp"

namespace sycl_ext {

namespace {

// ---- DLPack's Python protocol -------------------------------------------------------------------

// A pair of ints; nullopt: another object, which Python reads.
std::optional<DLDevice> read_device(PyObject* pair) {
  if (!PyTuple_CheckExact(pair) || PyTuple_GET_SIZE(pair) != 2) return std::nullopt;
  const auto read = [pair](Py_ssize_t place) {  // LONG_MAX: not a number of 32 bits
    PyObject* const item = PyTuple_GET_ITEM(pair, place);
    int overflow = 0;
    const long value = PyLong_Check(item) ? PyLong_AsLongAndOverflow(item, &overflow) : LONG_MAX;
    return overflow != 0 || value < INT32_MIN || value > INT32_MAX ? LONG_MAX : value;
  };
  const long type = read(0), id = read(1);
  if (type == LONG_MAX || id == LONG_MAX) return std::nullopt;
  return DLDevice{static_cast<DLDeviceType>(type), static_cast<std::int32_t>(id)};
}

// A new tuple of the names of the keyword arguments in a call of __dlpack__. They are interned, as
// in a call by Python, because producers compare identities first.
PyObject* make_keyword_names(bool has_stream, bool has_copy) {
  static PyObject* const max_version = intern("max_version");
  static PyObject* const stream = intern("stream");
  static PyObject* const copy = intern("copy");
  if (has_stream && has_copy) return PyTuple_Pack(3, max_version, stream, copy);
  if (has_stream) return PyTuple_Pack(2, max_version, stream);
  if (has_copy) return PyTuple_Pack(2, max_version, copy);
  return PyTuple_Pack(1, max_version);
}

// Calls x.__dlpack__(max_version=..., stream=..., copy=...); a nullptr argument is left out.
PyRef call_dlpack(PyObject* x, PyObject* stream, PyObject* copy) {
  static PyObject* const method = intern("__dlpack__");
  // Made with the GIL, and not by the initializer of a static variable, in which a collection of
  // garbage may run.
  static PyObject* version = nullptr;
  static PyObject* names_for[2][2] = {};  // with a stream, with a copy
  if (!version) version = Py_BuildValue("(II)", dlpack_version.major, dlpack_version.minor);
  PyObject*& names = names_for[stream != nullptr][copy != nullptr];
  if (!names) names = make_keyword_names(stream, copy);
  if (!version || !names) throw PythonError();
  std::array<PyObject*, 4> args{x, version};
  std::size_t count = 2;
  for (PyObject* const argument : {stream, copy}) {
    if (argument) args[count++] = argument;
  }
  return PyRef(
      PyObject_VectorcallMethod(method, args.data(), 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, names));
}

// Asks a producer for a view of its memory in place.  Empty: the producer raised *refusal, or, if
// that is empty as well, Python has to ask.
//
// USM is requested with a stream.  A producer that shows a queue gets that queue, which needs no
// further ordering, and the queue becomes the tensor's.  Another producer gets the shared queue of
// the device, and orders its work before later work there.
PyRef ask_view(PyObject* x, const ImportRequest& request, const ImportOptions& content, long facts,
               PyRef* refusal) {
  static PyObject* const device_method = intern("__dlpack_device__");
  static PyObject* const queue_name = intern("sycl_queue");
  std::optional<DLDevice> device;
  if (Py_TYPE(x) == ndarray_type()) {
    device = {kDLCPU, 0};  // not asked: the call takes as long as finding the owner
  } else {
    const PyRef answer(PyObject_CallMethodNoArgs(x, device_method));
    if (!answer) (void)take_exception();  // Python asks again
    if (answer) device = read_device(answer.get());
  }
  if (!device) return nullptr;
  CapsuleOptions options;
  options.content = content;
  options.content.expected = &*device;
  options.never_copy = request.copy == Py_False;
  if (!request.dlpack_only && facts & ProducerClass::is_base) options.base = x;
  Queue queue;
  PyRef stream;
  const int type = static_cast<int>(device->device_type);
  if (type == kDLOneAPI) {
    const Entry* const entry = find_entry(device->device_id);
    const bool shows_queue = facts & ProducerClass::shows_queue;
    // If another SYCL runtime is loaded, a producer that shows no queue may belong to it, and would
    // take our queue for one of its own.  Python asks that producer, for complete data.
    if (!entry || (!shows_queue && has_other_libsycl())) return nullptr;
    if (shows_queue) {
      stream.reset(PyObject_GetAttr(x, queue_name));
      if (!stream) (void)take_exception();
      if (stream) queue = queue_of_dpctl(stream.get());
      if (!queue) return nullptr;
      options.content.queue = &queue;
    } else {
      stream = shared_queue(*entry);
    }
  } else if (type != kDLCPU) {
    return nullptr;
  }
  const PyRef capsule = call_dlpack(x, stream.get(), options.never_copy ? Py_False : nullptr);
  if (!capsule) {
    *refusal = take_exception();
    return nullptr;
  }
  return import_capsule(x, capsule.get(), options);
}

// ---- the order, as far as views go --------------------------------------------------------------

// What the core has learned from a producer before it calls Python.
struct Asked {
  PyObject* view = Py_None;     // memory that must be moved, or may be described wrongly
  PyObject* refusal = nullptr;  // the exception of the DLPack methods
  bool table = false;           // the C exchange table was asked, without success
};

// Calls Python for every import that is not made here.  Python empties the list of refusals,
// because an exception in it would form a cycle with the frames that hold the list.
PyObject* continue_import(PyObject* x, const ImportRequest& request, const Asked& asked = {}) {
  const auto flag = [](bool value) { return value ? Py_True : Py_False; };
  const PyRef refusals(asked.refusal ? Py_BuildValue("[O]", asked.refusal) : PyList_New(0));
  if (!refusals) return nullptr;
  return PyObject_CallFunctionObjArgs(hooks.continue_import, x, asked.view, refusals.get(),
                                      flag(asked.table), flag(request.dlpack_only),
                                      flag(request.in_place), request.copy, request.device,
                                      request.usm_type, nullptr);
}

bool names_no_place(const ImportRequest& request) {
  return request.device == Py_None && request.usm_type == Py_None;
}

// Whether the request leaves a tensor on a device where it is: it names no device, or USM is on the
// one that it names by an id or a Device.
bool names_place_of(const Tensor& tensor, const ImportRequest& request) {
  if (tensor.on_host || request.usm_type != Py_None) return false;
  if (request.device == Py_None) return true;
  const Entry* const entry = tensor.memory->entry;
  if (!entry || tensor.memory->kind == UsmKind::system) return false;
  int overflow = 0;
  return (PyLong_CheckExact(request.device)
              ? PyLong_AsLongAndOverflow(request.device, &overflow)
              : look_up(hooks.device_ids, request.device)) == entry->id;
}

// Brings a tensor to the requested device.  `copied`: the producer made its memory only for this
// import.
PyObject* meet_request(PyObject* x, PyRef object, ImportRequest request, bool copied = false) {
  if (!object) return nullptr;
  const Tensor& tensor = tensor_of(object.get());
  // Host memory that the default device can read is viewed.
  const bool is_there =
      request.in_place ||
      (names_place_of(tensor, request) &&
       ((request.copy == Py_None && tensor.memory->kind == UsmKind::system) ||
        route_of(tensor, Destination::own_entry, copy_of(request.copy)) == Route::view));
  // dpnp reports every 0-dimensional array as read-only.  A NULL pointer does not show the kind
  // of USM.
  const bool may_be_wrong = (tensor.readonly && tensor.layout.ndim() == 0) ||
                            (tensor.size() == 0 && tensor.memory->kind == UsmKind::device);
  if (is_there && !may_be_wrong) return object.release();
  if (copied && request.copy == Py_True) request.copy = Py_None;
  return continue_import(x, request, {object.get()});
}

PyObject* meet_request(PyObject* x, Imported&& imported, const ImportRequest& request) {
  const bool copied = imported.copied;
  return meet_request(x, PyRef(wrap_tensor(std::move(imported.tensor))), request, copied);
}

PyObject* import_tensor(PyObject* x, const ImportRequest& request) {
  if (request.in_place) {
    return tensor_of(x).on_host ? continue_import(x, request) : Py_NewRef(x);
  }
  PyRef view = view_in_place(x, request);
  return view ? view.release() : continue_import(x, request);
}

}  // namespace

long look_up(PyObject* dict, PyObject* key) {
  if (!dict) return -1;
  PyObject* const value = PyDict_GetItemWithError(dict, key);
  if (!value && PyErr_Occurred()) (void)take_exception();  // a key that cannot be hashed
  return value ? PyLong_AsLong(value) : -1;
}

PyRef view_in_place(PyObject* x, const ImportRequest& request) {
  const Tensor& tensor = tensor_of(x);
  const bool is_there = names_place_of(tensor, request) || names_no_place(request);
  if (!is_there || !tensor.memory->entry ||
      route_of(tensor, Destination::own_entry, copy_of(request.copy)) != Route::view) {
    return nullptr;
  }
  // A host view of USM is imported as that USM.
  PyRef view(tensor.on_host ? wrap_tensor(as_usm(tensor), base_of(x))
                            : wrap_tensor(tensor, base_of(x)));
  if (!view) throw PythonError();
  return view;
}

PyRef import_capsule(PyObject* x, PyObject* capsule, const CapsuleOptions& options) {
  Imported imported = consume_capsule(capsule, options.content);
  if (imported.copied && options.never_copy) {
    fail(Error::Kind::copy_refused, "copy=False, but the ", Py_TYPE(x)->tp_name,
         " can only be exported as a copy; pass copy=None to accept one");
  }
  imported.tensor.readonly = imported.tensor.readonly || options.readonly;
  PyRef tensor(wrap_tensor(std::move(imported.tensor), options.base));
  if (!tensor) throw PythonError();
  return tensor;
}

PyObject* import_object(PyObject* x, const ImportRequest& request) {
  const bool is_capsule = PyCapsule_CheckExact(x);
  // A capsule is consumed only after device= was read, so that a wrong device= does not use it up.
  const bool is_for_python =
      (is_capsule && request.device != Py_None) || PyList_Check(request.device) || hooks.trace;
  if (is_for_python) return continue_import(x, request);
  if (has_our_dlpack(x)) return import_tensor(x, request);
  ImportOptions options;
  options.find_usm = true;
  const bool is_wanted_here = request.copy == Py_None && names_no_place(request);
  if (is_wanted_here && !request.in_place) options.host_reader = reader_of_host_memory();
  if (is_capsule) return meet_request(x, consume_capsule(x, options), request);
  const ProducerClass producer = producer_class(Py_TYPE(x));
  const long needed = request.dlpack_only ? ProducerClass::from_dlpack : ProducerClass::as_tensor;
  if (!(producer.facts & needed)) return continue_import(x, request);
  if (std::optional<Imported> imported = import_through_api(x, producer, options)) {
    // A copy by the table is refused here.  The Python protocol can forbid the copy in advance.
    const bool refused = imported->copied && request.copy == Py_False;
    if (!refused) return meet_request(x, *std::move(imported), request);
  }
  PyRef refusal, tensor;
  if (!(producer.facts & ProducerClass::has_lazy_state)) {
    tensor = ask_view(x, request, options, producer.facts, &refusal);
  }
  if (tensor) return meet_request(x, std::move(tensor), request);
  Asked asked;
  asked.refusal = refusal.get();
  asked.table = producer.table;
  return continue_import(x, request, asked);
}

}  // namespace sycl_ext
