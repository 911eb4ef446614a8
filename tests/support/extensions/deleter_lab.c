// SPDX-License-Identifier: Apache-2.0
//
// A deleter in C, which anybody may call: it notes whether the thread that calls it holds the GIL.
// And code that calls the deleters of others as a SYCL runtime does: in a thread of its own, or
// under a lock.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <dlpack/dlpack.h>
#include <pthread.h>

#if PY_VERSION_HEX < 0x030D0000
#define PyThreadState_GetUnchecked _PyThreadState_UncheckedGet
#endif

static int calls, calls_with_gil;

// PyGILState_Check() is true in every thread of a process where something has switched it off.
static void note_gil(void* managed) {
  PyThreadState* const mine = PyGILState_GetThisThreadState();
  (void)managed;
  calls_with_gil += mine && mine == PyThreadState_GetUnchecked();
  ++calls;
}

static PyObject* address(PyObject* module, PyObject* nothing) {
  (void)module;
  (void)nothing;
  return PyLong_FromVoidPtr((void*)note_gil);
}

static PyObject* noted(PyObject* module, PyObject* nothing) {
  (void)module;
  (void)nothing;
  return Py_BuildValue("(ii)", calls, calls_with_gil);
}

static void* delete_managed(void* address) {
  DLManagedTensorVersioned* const managed = address;
  managed->deleter(managed);
  return NULL;
}

// Waits with the GIL for another thread, as a program does that waits for a host task.
static PyObject* delete_in_thread(PyObject* module, PyObject* address) {
  pthread_t thread;
  void* const managed = PyLong_AsVoidPtr(address);
  (void)module;
  if (pthread_create(&thread, NULL, delete_managed, managed)) return PyErr_NoMemory();
  pthread_join(thread, NULL);
  Py_RETURN_NONE;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

// Calls the deleter under the lock, without the GIL, while another thread waits for the lock.
static PyObject* delete_under_lock(PyObject* module, PyObject* address) {
  void* const managed = PyLong_AsVoidPtr(address);
  (void)module;
  Py_BEGIN_ALLOW_THREADS;
  pthread_mutex_lock(&lock);
  pthread_barrier_wait(&both);
  delete_managed(managed);
  pthread_mutex_unlock(&lock);
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

// Waits for the lock with the GIL, as an extension does that submits to a queue.
static PyObject* take_lock(PyObject* module, PyObject* nothing) {
  (void)module;
  (void)nothing;
  pthread_barrier_wait(&both);
  pthread_mutex_lock(&lock);
  pthread_mutex_unlock(&lock);
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"address", address, METH_NOARGS, "The address of the deleter."},
    {"noted", noted, METH_NOARGS, "How often it was called, and how often with the GIL."},
    {"delete_in_thread", delete_in_thread, METH_O, "Call the deleter of a managed tensor."},
    {"delete_under_lock", delete_under_lock, METH_O, "Call it while take_lock() waits."},
    {"take_lock", take_lock, METH_NOARGS, "Wait for the lock."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "deleter_lab",
                                        .m_methods = methods};

PyMODINIT_FUNC PyInit_deleter_lab(void) {
  pthread_barrier_init(&both, NULL, 2);
  return PyModule_Create(&definition);
}
