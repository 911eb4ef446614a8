// SPDX-License-Identifier: Apache-2.0
// Imports the memory of any object as a tensor.  Views are made here: of a tensor, of a capsule,
// through a C exchange table, and by the two calls of DLPack's Python protocol.
//
// https://data-apis.org/array-api/latest/API_specification/generated/array_api.array.__dlpack__.html
//
// All other imports are one call of Python, which tries the protocols in their order:
// continue_import in sycl_ext/_protocols/imports.py.
#pragma once

#include "python/tensor_object.hpp"
#include "rules/routes.hpp"

namespace sycl_ext {

// The argument copy=, which is None, True or False.
inline Copy copy_of(PyObject* copy) noexcept {
  if (copy == Py_None) return Copy::if_needed;
  return copy == Py_True ? Copy::always : Copy::never;
}

struct ImportRequest {
  bool dlpack_only;              // as from_dlpack; else any protocol
  bool in_place = false;         // the memory stays where it is; host memory gets no entry
  PyObject* copy = Py_None;      // None, True or False
  PyObject* device = Py_None;    // in any form of device= (borrowed)
  PyObject* usm_type = Py_None;  // the kind of USM that is needed (borrowed)
};

// Returns a new instance.  On failure returns nullptr with an exception set, or throws.
PyObject* import_object(PyObject* x, const ImportRequest& request);

// A new view of a tensor of ours, if the request names the device on which its memory is, or no
// device, and the rules allow a view.  Empty: the memory has to be moved, or Python reads device=.
PyRef view_in_place(PyObject* x, const ImportRequest& request);

struct CapsuleOptions {
  ImportOptions content;     // for the struct in the capsule
  bool never_copy = false;   // Error(copy_refused) if the producer says that it made a copy
  bool readonly = false;     // the tensor is read-only, whatever the capsule says
  PyObject* base = nullptr;  // of the tensor (borrowed)
};

// Makes a tensor of a capsule of the producer `x`, after checking it.
PyRef import_capsule(PyObject* x, PyObject* capsule, const CapsuleOptions& options);

// The int that a dict has for a key; -1: the dict does not have the key.
long look_up(PyObject* dict, PyObject* key);

}  // namespace sycl_ext
