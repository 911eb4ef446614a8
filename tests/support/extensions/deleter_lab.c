// SPDX-License-Identifier: Apache-2.0
//
// A deleter in C, which anybody may call: it notes whether the thread that calls it holds the GIL.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

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

static PyMethodDef methods[] = {
    {"address", address, METH_NOARGS, "The address of the deleter."},
    {"noted", noted, METH_NOARGS, "How often it was called, and how often with the GIL."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "deleter_lab",
                                        .m_methods = methods};

PyMODINIT_FUNC PyInit_deleter_lab(void) { return PyModule_Create(&definition); }
