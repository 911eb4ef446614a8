// SPDX-License-Identifier: Apache-2.0
// The two calls of DLPack's Python protocol, and what has to be done around them.
//
// https://data-apis.org/array-api/latest/API_specification/generated/array_api.array.__dlpack__.html
//
// What follows when a producer refuses is decided in Python (sycl_ext/_protocols/imports.py).
#pragma once

#include <optional>

#include "python/tensor_object.hpp"

namespace sycl_ext {

// What came of a question.  Neither: it could not be asked, because the device is neither the host
// nor of kDLOneAPI.
struct Answer {
  PyRef tensor;   // a new instance
  PyRef refusal;  // an exception, with its traceback
};

// What x.__dlpack_device__() says; std::nullopt: it raised, and *refusal is the exception.
std::optional<DLDevice> announced_device(PyObject* x, PyRef* refusal);

// Asks for a view of the memory where it is.
//
// USM is asked for with a stream.  A producer that shows a queue gets that one: it has nothing to
// do, and the queue is the tensor's from then on.  Another producer gets the queue that everybody
// shares, and orders its work before what comes later there.  A producer that is too old for the
// keywords is asked without any, and its queue is waited for.
struct ViewRequest {
  bool never_copy = false;             // copy=False, which the producer is told
  bool settle = false;                 // as in ImportOptions
  const Entry* host_reader = nullptr;  // as in ImportOptions
  PyObject* base = nullptr;            // what the tensor names as its base (borrowed)
};
Answer ask_view(PyObject* x, const DLDevice& announced, const ViewRequest& request);

// Asks for the memory on a device, as a copy if that takes one.  Throws what the producer raises.
PyRef ask_copy(PyObject* x, const DLDevice& wanted, PyObject* copy);

// The exception that is set, as an object; none is set any more.  KeyboardInterrupt and the like,
// and RecursionError, are no answers of a producer: they stay set, and PythonError is thrown.
PyRef take_exception();

}  // namespace sycl_ext
