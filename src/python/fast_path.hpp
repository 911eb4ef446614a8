// SPDX-License-Identifier: Apache-2.0
// Entry points without Python between a call and the core.
//
// A public function is written in Python, with its rules and its docstring.  The hot ones are
// wrapped in an `Accelerated` object, which answers the calls that need no negotiation (in 100 ns
// instead of 10 us) and passes every other call on, unchanged.  What a fast function answers must
// be what the Python function answers; tests hold the two together.
#pragma once

#include "python/tensor_object.hpp"

namespace sycl_ext {

// What the fast functions need of the Python package.
struct FastPathHooks {
  PyObject* device_ids = nullptr;  // dict: Device -> entry id
  PyObject* dtype_indices =
      nullptr;                     // dict: name, numpy.dtype or scalar type -> entry of the table
  PyObject* stream_for = nullptr;  // (entry id) -> what a producer on that entry gets as stream
  PyObject* producer_queue = nullptr;  // (producer) -> the queue that it shows, or None
  PyObject* order_behind = nullptr;    // (tensor, producer's queue): later work of ours sees theirs
  PyObject* settle_host = nullptr;     // (host tensor) -> tensor on the default device
  PyObject* from_ndarray = nullptr;    // (numpy.ndarray) -> host tensor
  PyObject* import_refused = nullptr;  // (producer, device, exception) -> tensor
  // tuple of str: packages whose arrays nobody may write to, although their capsules do not say so
  PyObject* immutable_packages = nullptr;
};
FastPathHooks& fast_path_hooks() noexcept;

// A new object that behaves as `function`, with the fast function called `name` before it; nullptr
// with an exception set when there is none.
PyObject* accelerate(const char* name, PyObject* function);

}  // namespace sycl_ext
