// SPDX-License-Identifier: Apache-2.0
// Remembers the answers of the rules of exchange for a tensor and a request, so that a repeated
// question does not ask Python.
//
// The rules are one table in Python (sycl_ext/_negotiation/rules.py); nothing is decided here.  The
// table is pure, and depends on a few facts of the tensor and the request.  So the core asks for
// its answer once for each combination of these facts.
#pragma once

#include "python/tensor_object.hpp"

namespace sycl_ext {

// In the order of rules.Route.
enum class Route : std::uint8_t { view, copy, host_view, host_copy, via_host, refuse };

// Where the consumer wants the memory: on the device of __dlpack_device__, on the host, or on the
// entry that the memory is bound to (the default device, for memory without an entry).
enum class Wanted : std::uint8_t { announced, host, own_entry };

struct RouteRequest {
  Wanted wanted;
  PyObject* copy = Py_None;  // None, True or False
  bool versioned = true;     // whether the consumer can be told that memory is read-only
  bool any_strides = false;  // whether the consumer takes negative strides from the host

  // A request of NumPy, which takes any strides from the host.
  static RouteRequest of_numpy(PyObject* copy) {
    RouteRequest request{Wanted::host, copy};
    request.any_strides = true;
    return request;
  }
};

// copy= as a number: None is 0, True is 1, False is 2.
inline std::size_t copy_index(PyObject* copy) noexcept {
  if (copy == Py_None) return 0;
  return copy == Py_True ? 1 : 2;
}

// The answer is exact for views and for copies to the host.  For other copies, Python's plan says
// which kind of USM they need, and whether they take one command or two.
Route route_of(const Tensor& tensor, const RouteRequest& request);

// The entry of the default device, if that device can use host memory in place; else nullptr.
const Entry* reader_of_host_memory();

}  // namespace sycl_ext
