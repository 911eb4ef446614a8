// SPDX-License-Identifier: Apache-2.0
//
// A library in C that lets others allocate: it knows dlpack.h and the capsule of a type, and
// nothing of who made the table.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <dlpack/dlpack.h>
#include <pthread.h>
#include <string.h>

struct request {
  const DLPackExchangeAPI* api;
  DLTensor prototype;
  DLManagedTensorVersioned* made;
  int failed;
  int errors;  // calls of set_error
  char kind[64], text[1024];
};

// Takes the GIL, as one does that sets a Python exception: the table must hold no lock meanwhile.
static void set_error(void* context, const char* kind, const char* message) {
  struct request* const request = context;
  const PyGILState_STATE state = PyGILState_Ensure();
  ++request->errors;
  strncpy(request->kind, kind, sizeof request->kind - 1);
  strncpy(request->text, message, sizeof request->text - 1);
  PyGILState_Release(state);
}

static void* allocate_now(void* context) {
  struct request* const request = context;
  request->failed = request->api->managed_tensor_allocator(&request->prototype, &request->made,
                                                           request, set_error);
  return NULL;
}

static void* delete_now(void* context) {
  DLManagedTensorVersioned* const managed = context;
  managed->deleter(managed);
  return NULL;
}

// Where a call is made: here with the GIL, here without it, on a thread that Python does not know.
enum place { with_gil, without_gil, other_thread };

static int run_at(int place, void* (*call)(void*), void* context) {
  if (place == with_gil) {
    call(context);
    return 0;
  }
  int failed = 0;
  Py_BEGIN_ALLOW_THREADS;
  if (place == without_gil) {
    call(context);
  } else {
    pthread_t thread;
    failed = pthread_create(&thread, NULL, call, context);
    if (!failed) pthread_join(thread, NULL);
  }
  Py_END_ALLOW_THREADS;
  if (failed) PyErr_SetString(PyExc_OSError, "no thread");
  return failed;
}

static const DLPackExchangeAPI* table_of(PyObject* type) {
  PyObject* const capsule = PyObject_GetAttrString(type, "__dlpack_c_exchange_api__");
  if (!capsule) return NULL;
  const DLPackExchangeAPI* const api = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
  Py_DECREF(capsule);
  if (api && api->header.version.major != DLPACK_MAJOR_VERSION) {
    PyErr_SetString(PyExc_BufferError, "another major version of DLPack");
    return NULL;
  }
  return api;
}

enum { max_ndim = 8 };

// allocate(type, place, (device type, id), (code, bits, lanes), shape) -> address of the struct, or
// (kind, message) of the error
static PyObject* allocate(PyObject* self, PyObject* args) {
  (void)self;
  PyObject *type, *shape;
  int place, device_type, device_id, code, bits, lanes;
  if (!PyArg_ParseTuple(args, "Oi(ii)(iii)O!", &type, &place, &device_type, &device_id, &code,
                        &bits, &lanes, &PyTuple_Type, &shape)) {
    return NULL;
  }
  int64_t extents[max_ndim];
  const int ndim = (int)PyTuple_GET_SIZE(shape);
  if (ndim > max_ndim) return PyErr_Format(PyExc_ValueError, "%d dimensions", ndim);
  for (int i = 0; i < ndim; ++i) extents[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
  // The fields that the table must not look at lead nowhere.
  struct request request = {
      .api = table_of(type),
      .prototype = {.data = (void*)1,
                    .device = {(DLDeviceType)device_type, device_id},
                    .ndim = ndim,
                    .dtype = {(uint8_t)code, (uint8_t)bits, (uint16_t)lanes},
                    .shape = extents,
                    .strides = (int64_t*)1,
                    .byte_offset = 1},
      .made = (DLManagedTensorVersioned*)1,
  };
  if (!request.api || PyErr_Occurred() || run_at(place, allocate_now, &request)) return NULL;
  if (PyErr_Occurred()) return NULL;  // nobody may set one but set_error
  if (!request.failed && request.errors == 0) return PyLong_FromVoidPtr(request.made);
  if (request.failed && request.errors == 1 && !request.made) {
    return Py_BuildValue("ss", request.kind, request.text);
  }
  return PyErr_Format(PyExc_AssertionError, "returned %d, with %d errors and the struct %p",
                      request.failed, request.errors, (void*)request.made);
}

// to_object(type, address) -> the object that the table makes of the struct
static PyObject* to_object(PyObject* self, PyObject* args) {
  (void)self;
  PyObject *type, *address;
  if (!PyArg_ParseTuple(args, "OO", &type, &address)) return NULL;
  const DLPackExchangeAPI* const api = table_of(type);
  if (!api) return NULL;
  void* made = NULL;
  if (api->managed_tensor_to_py_object_no_sync(PyLong_AsVoidPtr(address), &made) != 0) return NULL;
  return made;
}

// stream(type, (device type, id)) -> address of the stream to work on
static PyObject* stream(PyObject* self, PyObject* args) {
  (void)self;
  PyObject* type;
  int device_type, device_id;
  if (!PyArg_ParseTuple(args, "O(ii)", &type, &device_type, &device_id)) return NULL;
  const DLPackExchangeAPI* const api = table_of(type);
  if (!api) return NULL;
  void* queue = NULL;
  if (api->current_work_stream((DLDeviceType)device_type, device_id, &queue) != 0) return NULL;
  return PyLong_FromVoidPtr(queue);
}

// delete_at(address, place)
static PyObject* delete_at(PyObject* self, PyObject* args) {
  (void)self;
  PyObject* address;
  int place;
  if (!PyArg_ParseTuple(args, "Oi", &address, &place)) return NULL;
  if (run_at(place, delete_now, PyLong_AsVoidPtr(address))) return NULL;
  Py_RETURN_NONE;
}

// Functions of a table that answer as those of `kept`, and leave a Python exception.
PyObject* exception;
const DLPackExchangeAPI* kept;

int leaving_from_object(void* object, DLManagedTensorVersioned** out) {
  const int failed = kept->managed_tensor_from_py_object_no_sync(object, out);
  PyErr_SetNone(exception);
  return failed;
}

int leaving_stream(DLDeviceType type, int32_t id, void** out) {
  const int failed = kept->current_work_stream(type, id, out);
  PyErr_SetNone(exception);
  return failed;
}

static PyMethodDef methods[] = {
    {"allocate", allocate, METH_VARARGS, NULL},
    {"to_object", to_object, METH_VARARGS, NULL},
    {"stream", stream, METH_VARARGS, NULL},
    {"delete_at", delete_at, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef module = {PyModuleDef_HEAD_INIT, "allocator_lab", NULL, -1, methods, 0, 0, 0, 0};

PyMODINIT_FUNC PyInit_allocator_lab(void) { return PyModule_Create(&module); }
