// SPDX-License-Identifier: Apache-2.0
// Python module `bare`: the lower bounds of the figures, which are the least that a C extension can
// do for the same answer; and loops, which show the cost of a protocol without a library.
#include <Python.h>
#include <dlpack/dlpack.h>

#include <cstdlib>
#include <cstring>
#include <sycl/context.hpp>
#include <sycl/queue.hpp>
#include <sycl/usm/usm_pointer_info.hpp>

namespace {

struct Block {
  DLManagedTensorVersioned managed;
  std::int64_t dims[4];  // shape, then strides
};

DLManagedTensorVersioned* make_managed() {
  static float data[16];
  auto* block = static_cast<Block*>(std::malloc(sizeof(Block)));
  *block = {{{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION},
             block,
             [](DLManagedTensorVersioned* self) { std::free(self->manager_ctx); },
             0,
             {data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, block->dims, block->dims + 2, 0}},
            {4, 4, 4, 1}};
  return &block->managed;
}

void release(DLManagedTensorVersioned* managed) {
  if (managed->deleter) managed->deleter(managed);
}

void destroy_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, "dltensor_versioned")) return;
  release(
      static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, "dltensor_versioned")));
}

// ---- lower bounds -------------------------------------------------------------------------------

PyObject* echo(PyObject*, PyObject* x) {
  Py_INCREF(x);
  return x;
}

PyObject* capsule(PyObject*, PyObject* const*, Py_ssize_t, PyObject*) {
  return PyCapsule_New(make_managed(), "dltensor_versioned", destroy_capsule);
}

// capsule_after(address of a sycl::queue): the same after asking, without the GIL, whether all work
// on the queue is done, and for its asynchronous errors.
PyObject* capsule_after(PyObject*, PyObject* address) {
  auto* queue = static_cast<sycl::queue*>(PyLong_AsVoidPtr(address));
  if (!queue) return nullptr;
  Py_BEGIN_ALLOW_THREADS;
  (void)queue->ext_oneapi_empty();  // OpenCL's answer may be wrong while other threads submit
  queue->throw_asynchronous();
  Py_END_ALLOW_THREADS;
  return PyCapsule_New(make_managed(), "dltensor_versioned", destroy_capsule);
}

// copy(target, source, bytes): memcpy between two addresses.
PyObject* copy(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 3) return PyErr_Format(PyExc_TypeError, "copy takes 3 arguments");
  std::memcpy(PyLong_AsVoidPtr(args[0]), PyLong_AsVoidPtr(args[1]), PyLong_AsSize_t(args[2]));
  Py_RETURN_NONE;
}

// x.__dlpack__(max_version=(1, 3)), its managed tensor taken out; nullptr with an exception set.
DLManagedTensorVersioned* ask_for_managed(PyObject* x) {
  static PyObject* const method = PyUnicode_InternFromString("__dlpack__");
  static PyObject* const version =
      Py_BuildValue("(ii)", DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION);
  static PyObject* const names = Py_BuildValue("(N)", PyUnicode_InternFromString("max_version"));
  PyObject* args[] = {x, version};
  PyObject* capsule =
      PyObject_VectorcallMethod(method, args, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, names);
  if (!capsule) return nullptr;
  auto* managed =
      static_cast<DLManagedTensorVersioned*>(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
  if (managed) PyCapsule_SetName(capsule, "used_dltensor_versioned");
  Py_DECREF(capsule);
  return managed;
}

// ask(producer, address of a sycl::context, number of questions): the two calls of the protocol,
// then each question to the runtime, whose the memory is.
PyObject* ask(PyObject*, PyObject* const* args, Py_ssize_t count) {
  static PyObject* const method = PyUnicode_InternFromString("__dlpack_device__");
  if (count != 3) return PyErr_Format(PyExc_TypeError, "ask takes 3 arguments");
  const auto* context = static_cast<const sycl::context*>(PyLong_AsVoidPtr(args[1]));
  PyObject* device = PyObject_CallMethodNoArgs(args[0], method);
  if (!device) return nullptr;
  Py_DECREF(device);
  DLManagedTensorVersioned* managed = ask_for_managed(args[0]);
  if (!managed) return nullptr;
  for (long i = PyLong_AsLong(args[2]); i > 0; --i) {
    sycl::get_pointer_type(managed->dl_tensor.data, *context);
  }
  release(managed);
  Py_RETURN_NONE;
}

// ---- loops --------------------------------------------------------------------------------------

// through_protocol(x, n): n managed tensors through the Python protocol.
PyObject* through_protocol(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "through_protocol takes 2 arguments");
  for (long i = PyLong_AsLong(args[1]); i > 0; --i) {
    DLManagedTensorVersioned* managed = ask_for_managed(args[0]);
    if (!managed) return nullptr;
    release(managed);
  }
  Py_RETURN_NONE;
}

// through_table(x, n): n managed tensors through the C exchange table of the type of x, which a
// consumer looks up once for each type.
PyObject* through_table(PyObject*, PyObject* const* args, Py_ssize_t count) {
  if (count != 2) return PyErr_Format(PyExc_TypeError, "through_table takes 2 arguments");
  PyObject* capsule = PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(args[0])),
                                             "__dlpack_c_exchange_api__");
  if (!capsule) return nullptr;
  const auto* table =
      static_cast<const DLPackExchangeAPI*>(PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
  Py_DECREF(capsule);
  if (!table) return nullptr;
  for (long i = PyLong_AsLong(args[1]); i > 0; --i) {
    DLManagedTensorVersioned* managed;
    if (table->managed_tensor_from_py_object_no_sync(args[0], &managed) != 0) return nullptr;
    release(managed);
  }
  Py_RETURN_NONE;
}

// ---- the least that has a table -----------------------------------------------------------------

int managed_from_object(void*, DLManagedTensorVersioned** out) {
  *out = make_managed();
  return 0;
}

const DLPackExchangeAPI table = {{{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}, nullptr},
                                 nullptr,
                                 managed_from_object,
                                 nullptr,
                                 nullptr,
                                 nullptr};

PyTypeObject* producer_type() {
  static PyType_Slot slots[] = {{0, nullptr}};
  static PyType_Spec spec = {"bare.Producer", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT, slots};
  PyObject* type = PyType_FromSpec(&spec);
  PyObject* capsule =
      PyCapsule_New(const_cast<DLPackExchangeAPI*>(&table), "dlpack_exchange_api", nullptr);
  if (!type || !capsule ||
      PyObject_SetAttrString(type, "__dlpack_c_exchange_api__", capsule) != 0) {
    return nullptr;
  }
  Py_DECREF(capsule);
  return reinterpret_cast<PyTypeObject*>(type);
}

template <class Function>
PyCFunction method(Function function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(function));
}

PyMethodDef methods[] = {
    {"echo", echo, METH_O, nullptr},
    {"capsule", method(capsule), METH_FASTCALL | METH_KEYWORDS, nullptr},
    {"capsule_after", capsule_after, METH_O, nullptr},
    {"copy", method(copy), METH_FASTCALL, nullptr},
    {"ask", method(ask), METH_FASTCALL, nullptr},
    {"through_protocol", method(through_protocol), METH_FASTCALL, nullptr},
    {"through_table", method(through_table), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "bare", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit_bare() {
  PyObject* module = PyModule_Create(&definition);
  PyTypeObject* type = producer_type();
  if (!module || !type || PyModule_AddType(module, type) != 0) return nullptr;
  Py_DECREF(type);
  return module;
}
