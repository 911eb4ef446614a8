// SPDX-License-Identifier: Apache-2.0
// The decision of the exchange's rules for a tensor and a request.
//
// The rules are one table in Python (sycl_ext/_negotiation/rules.py), and nothing here decides. The
// table is pure, and a few facts of the tensor and of the request are all that it depends on, so
// its answer is asked for once for each combination of them, and remembered.
#pragma once

#include "python/tensor_object.hpp"

namespace sycl_ext {

// In the order of rules.Route.
enum class Route : std::uint8_t { view, copy, host_view, host_copy, via_host, refuse };

// Where memory is wanted: where __dlpack_device__ says, on the host, or on the entry that it is
// bound to (the default device for memory that is bound to none).
enum class Wanted : std::uint8_t { announced, host, own_entry };

struct RouteRequest {
  Wanted wanted;
  PyObject* copy = Py_None;  // None, True or False
  bool versioned = true;     // whether the consumer can be told that memory is read-only
  bool any_strides = false;  // whether the consumer takes negative strides from the host

  // Of NumPy, which takes any strides from the host.
  static RouteRequest of_numpy(PyObject* copy) {
    RouteRequest request{Wanted::host, copy};
    request.any_strides = true;
    return request;
  }
};

// For a copy with which kind of USM, and whether it takes one command or two, ask Python's plan:
// the answer is exact for views and for copies to the host.
Route route_of(const Tensor& tensor, const RouteRequest& request);

// The default device's entry if host memory can be handed to it as it is, else nullptr.
const Entry* reader_of_host_memory();

}  // namespace sycl_ext
