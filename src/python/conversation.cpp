// SPDX-License-Identifier: Apache-2.0
#include "python/conversation.hpp"

#include <array>
#include <climits>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "python/dpctl_queue.hpp"
#include "python/producer_class.hpp"
#include "runtime/native_devices.hpp"
#include "runtime/runtimes.hpp"
#include "runtime/untrusted.hpp"

namespace sycl_ext {

namespace {

PyObject* intern(const char* text) { return PyUnicode_InternFromString(text); }

// A pair of ints; std::nullopt: it is something else.
std::optional<DLDevice> read_device(PyObject* pair) {
  if (!PyTuple_CheckExact(pair) || PyTuple_GET_SIZE(pair) != 2) return std::nullopt;
  const auto read = [pair](Py_ssize_t place) {  // LONG_MAX: no number of 32 bits
    PyObject* const item = PyTuple_GET_ITEM(pair, place);
    int overflow = 0;
    const long value = PyLong_Check(item) ? PyLong_AsLongAndOverflow(item, &overflow) : LONG_MAX;
    return overflow != 0 || value < INT32_MIN || value > INT32_MAX ? LONG_MAX : value;
  };
  const long type = read(0), id = read(1);
  if (type == LONG_MAX || id == LONG_MAX) return std::nullopt;
  return DLDevice{static_cast<DLDeviceType>(type), static_cast<std::int32_t>(id)};
}

// Torch's lazy negative bit: the memory has the other sign, and no capsule says so.
bool is_negated(PyObject* x) {
  static PyObject* const name = intern("is_neg");
  const PyRef answer(in_python([&] { return PyObject_CallMethodNoArgs(x, name); }));
  if (!answer) throw PythonError();
  const int result = PyObject_IsTrue(answer.get());
  if (result < 0) throw PythonError();
  return result != 0;
}

// The queue that a producer shows, in a form that it takes as `stream`; empty: none;
// Py_NotImplemented: it may work with another SYCL runtime (queues.OTHER_RUNTIME).
PyRef queue_of_producer(PyObject* x, long traits) {
  if (!(traits & Traits::shows_queue) && !has_other_libsycl()) return nullptr;
  static PyObject* const name = intern("sycl_queue");
  PyRef queue(in_python([&] { return PyObject_GetAttr(x, name); }));
  if (queue && is_dpctl_queue(queue.get())) return queue;
  if (!queue && !PyErr_ExceptionMatches(PyExc_AttributeError)) throw PythonError();
  PyErr_Clear();
  queue.reset(in_python([&] { return PyObject_CallOneArg(hooks().producer_queue, x); }));
  if (!queue) throw PythonError();
  if (queue.get() == Py_None) queue.reset();
  return queue;
}

// The queue that a producer shows; empty: work on memory of the entry cannot go there.
Queue queue_on(const Entry& entry, PyObject* shown) {
  Queue queue;
  if (PyLong_Check(shown)) {
    void* const at = PyLong_AsVoidPtr(shown);
    if (!at && PyErr_Occurred()) throw PythonError();
    queue = queue_at_untrusted(at);
  } else {
    queue = queue_of_dpctl(shown);
    if (!queue) return queue;
  }
  return serves(queue, entry) ? queue : Queue();
}

// The keywords of one call of __dlpack__; nullptr: left out.
struct Keywords {
  PyObject *stream = nullptr, *dl_device = nullptr, *copy = nullptr;

  // x.__dlpack__(max_version=..., **keywords); nullptr with an exception set.
  PyObject* call(PyObject* x) const {
    static PyObject* const method = intern("__dlpack__");
    PyObject* args[] = {x, newest_version(), nullptr, nullptr, nullptr};
    std::size_t count = 2, which = 0;
    for (PyObject* const value : {stream, dl_device, copy}) {
      which = 2 * which + (value != nullptr);
      if (value) args[count++] = value;
    }
    PyObject* const names = names_of(which);
    return in_python([&] {
      return PyObject_VectorcallMethod(method, args, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, names);
    });
  }

 private:
  // Made with the GIL, and by no initializer of a static: a collection of garbage may run in it.
  static PyObject* newest_version() {
    static PyObject* version = nullptr;
    if (!version) version = Py_BuildValue("(ii)", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
    if (!version) throw PythonError();
    return version;
  }
  // Interned, as the names of a call in Python are: producers compare identities first.
  static PyObject* names_of(std::size_t which) {
    static const std::array<PyObject*, 4> all{intern("max_version"), intern("stream"),
                                              intern("dl_device"), intern("copy")};
    static std::array<PyObject*, 8> tuples{};
    if (!tuples[which]) {
      const PyRef list(PyList_New(0));
      for (std::size_t i = 0; list && i < all.size(); ++i) {
        const bool is_given = i == 0 || which >> (all.size() - 1 - i) & 1;
        if (is_given && PyList_Append(list.get(), all[i]) < 0) throw PythonError();
      }
      tuples[which] = list ? PyList_AsTuple(list.get()) : nullptr;
      if (!tuples[which]) throw PythonError();
    }
    return tuples[which];
  }
};

// Waits for the queue that a producer shows, if it shows one.  False with an exception set.
bool wait_for_producer(PyObject* x) {
  const PyRef waited(in_python([&] { return PyObject_CallOneArg(hooks().wait_for_producer, x); }));
  return waited != nullptr;
}

// A producer of a release before the keywords: it was not told of a stream, so its queue is waited
// for.  `error` is the TypeError of the call with keywords.
PyRef ask_without_keywords(PyObject* x, PyRef error, PyRef* refusal) {
  static PyObject* const method = intern("__dlpack__");
  PyRef capsule(in_python([&] { return PyObject_CallMethodNoArgs(x, method); }));
  if (!capsule) {
    // A warning that is raised as an error is about this second call.
    const bool says_less =
        PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_Warning);
    PyRef second = take_exception();
    *refusal = says_less ? std::move(error) : std::move(second);
    return nullptr;
  }
  if (wait_for_producer(x)) return capsule;
  *refusal = take_exception();
  return nullptr;
}

constexpr const char* negated_text =
    "it has the negative bit set, so its memory has the other sign; tensor.resolve_neg() makes a "
    "tensor that can be exchanged";

// The capsule as a tensor, checked.
PyRef import_view(PyObject* x, PyObject* capsule, const DLDevice& announced,
                  const ViewRequest& request, long traits, const Queue& queue) {
  Imported imported = consume_capsule(capsule, {&announced, request.settle, nullptr,
                                                request.host_reader, queue ? &queue : nullptr});
  if (imported.copied && request.never_copy) {
    fail(Error::Kind::copy_refused, "copy=False, and the ", Py_TYPE(x)->tp_name, " made a copy");
  }
  const bool is_immutable = traits & Traits::immutable;
  imported.tensor.readonly = imported.tensor.readonly || is_immutable;
  return PyRef(wrap_tensor(std::move(imported.tensor), is_immutable ? nullptr : request.base));
}

}  // namespace

PyRef take_exception() {
  // Endless recursion would not end if it were a refusal, after which something else is tried.
  if (!PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_RecursionError)) {
    throw PythonError();
  }
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  hang_at_thread_end([&] { PyErr_NormalizeException(&type, &value, &traceback); });
  if (traceback) PyException_SetTraceback(value, traceback);
  const PyRef owned_type(type), owned_traceback(traceback);
  return PyRef(value);
}

std::optional<DLDevice> announced_device(PyObject* x, PyRef* refusal) {
  static PyObject* const method = intern("__dlpack_device__");
  const PyRef answer(in_python([&] { return PyObject_CallMethodNoArgs(x, method); }));
  if (!answer) {
    *refusal = take_exception();
    return std::nullopt;
  }
  if (const std::optional<DLDevice> device = read_device(answer.get())) return device;
  const PyRef pair(in_python(
      [&] { return PyObject_CallFunctionObjArgs(hooks().read_device, x, answer.get(), nullptr); }));
  if (!pair) throw PythonError();
  const std::optional<DLDevice> device = read_device(pair.get());
  if (!device) fail(Error::Kind::buffer, "the producer's device is no pair of two ints");
  return device;
}

Answer ask_view(PyObject* x, const DLDevice& announced, const ViewRequest& request) {
  Answer answer;
  const int device_type = static_cast<int>(announced.device_type);
  const Entry* const native =
      is_native_type(device_type) ? entry_of_native({device_type, announced.device_id}) : nullptr;
  if (device_type != kDLCPU && device_type != kDLOneAPI && !native) return answer;
  const long traits = traits_of(Py_TYPE(x));
  if (traits & Traits::has_negative_bit && is_negated(x)) {
    answer.refusal.reset(PyObject_CallFunction(PyExc_BufferError, "s", negated_text));
    return answer;
  }
  Keywords keywords;
  PyRef queue, shared;
  const Entry* const entry = device_type == kDLOneAPI ? find_entry(announced.device_id) : nullptr;
  if (entry) {
    queue = queue_of_producer(x, traits);
    if (!queue) {
      entry->queue();  // reads of the memory wait for it
      shared = shared_queue(*entry);
    }
    // No queue of ours is for a producer of another runtime: its data has to be ready.
    keywords.stream = shared                             ? shared.get()
                      : queue.get() == Py_NotImplemented ? Py_None
                                                         : queue.get();
  }
  // A library without SYCL orders its work before what comes later on a stream of its own.
  PyRef stream;
  if (native) {
    stream.reset(PyLong_FromUnsignedLongLong([native] {
      const ReleasedGil released;
      return native_stream(*native);
    }()));
    if (!stream) throw PythonError();
    keywords.stream = stream.get();
  }
  if (request.never_copy) keywords.copy = Py_False;
  PyRef capsule(keywords.call(x));
  if (!capsule) {
    const bool is_type_error = PyErr_ExceptionMatches(PyExc_TypeError);
    answer.refusal = take_exception();
    if (is_type_error) {
      capsule = ask_without_keywords(x, std::move(answer.refusal), &answer.refusal);
    }
    if (!capsule) return answer;
  }
  const bool other_runtime = queue.get() == Py_NotImplemented;
  const Queue kept = queue && !other_runtime ? queue_on(*entry, queue.get()) : Queue();
  try {
    answer.tensor = import_view(x, capsule.get(), announced, request, traits, kept);
  } catch (const Error& error) {
    if (!other_runtime || error.kind() != Error::Kind::buffer) throw;
    // Its memory is unknown to our driver; a copy to the host is not.
    set_python_error();
    answer.refusal = take_exception();
    return answer;
  }
  if (!answer.tensor) throw PythonError();
  if (queue && !kept && !other_runtime && !wait_for_producer(x)) throw PythonError();
  return answer;
}

PyRef ask_copy(PyObject* x, const DLDevice& wanted, PyObject* copy) {
  if (traits_of(Py_TYPE(x)) & Traits::has_negative_bit && is_negated(x)) {
    fail(Error::Kind::buffer, negated_text);
  }
  const PyRef device(Py_BuildValue("(ii)", static_cast<int>(wanted.device_type), wanted.device_id));
  if (!device) throw PythonError();
  const PyRef capsule(Keywords{nullptr, device.get(), copy}.call(x));
  if (!capsule) throw PythonError();
  PyRef tensor(wrap_tensor(consume_capsule(capsule.get(), {&wanted}).tensor, nullptr));
  if (!tensor) throw PythonError();
  return tensor;
}

}  // namespace sycl_ext
