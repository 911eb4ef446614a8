// SPDX-License-Identifier: Apache-2.0
// Keeps the decisions of `exchange`, so that a repeated exchange does not ask Python.
//
// Python makes each decision (sycl_ext/_exchange/decisions.py), from a target, which it has read
// from the consumer and device=, and from the facts of an array.  The core keeps targets by the
// objects that were passed, and the decisions of a target by the facts.  A kept target holds as
// long as every attribute in its `lookups` has the same value, and for memory other than the host's
// those in its `device_lookups`, so a module that was reloaded, replaced or changed is noticed.
#pragma once

#include <memory>

#include "python/tensor_object.hpp"

namespace sycl_ext {

// The arguments of `exchange` after the array (borrowed).
struct ExchangeRequest {
  PyObject* consumer;
  PyObject* copy;       // None, True or False
  PyObject* host_copy;  // True or False
  PyObject* device;     // in any form of device=
  PyObject* usm_type;   // the kind of USM that is needed on a device; None: any
};

// The view that the core hands over by itself: decisions.View.
enum class View : std::uint8_t { none, on_host, on_device };

// decisions.Decision.
struct Decision {
  PyRef object;
  View view;
  bool waits;        // whether work on the array must be done before the call
  PyRef call, then;  // nullptr: None
};

struct Decided {
  PyRef source;  // the memory of the array, where it is
  std::shared_ptr<const Decision> decision;
};

// Reads the consumer, finds the memory of `x`, and decides.  If one of these steps refuses, it
// throws PythonError or Error.
Decided decide_exchange(PyObject* x, const ExchangeRequest& request);

}  // namespace sycl_ext
