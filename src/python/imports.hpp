// SPDX-License-Identifier: Apache-2.0
// Anything that has memory -> a tensor: the order in which the protocols are tried.
#pragma once

#include "python/tensor_object.hpp"

namespace sycl_ext {

struct ImportRequest {
  // DLPack alone, as from_dlpack; or any protocol: __sycl_usm_array_interface__ (which names queue
  // and sub-device), DLPack, and the buffer protocol, in this order.  A producer whose description
  // must not be read by two threads (Traits::waits_in_description) is asked for DLPack first.
  enum class Protocols { dlpack, any } protocols;
  // The memory stays where it is; host memory that is not USM comes as a tensor without an entry.
  bool in_place = false;
  PyObject* placement =
      nullptr;               // a Placement of Python's side (borrowed); nullptr: none is wanted
  PyObject* copy = Py_None;  // None, True or False
};

// A new instance; nullptr with an exception set, or another exception.
PyObject* import_object(PyObject* x, const ImportRequest& request);

}  // namespace sycl_ext
