// SPDX-License-Identifier: Apache-2.0
// Remembers the decisions of `exchange`, so that a repeated exchange does not ask Python.
//
// Python makes each decision (sycl_ext/_exchange/decisions.py), from the consumer, the arguments,
// and the facts of an array, which are the bits of a number.  The core asks for the answer once for
// each combination of these, and keeps it together with its reads: the values that the answer
// depends on.  Before an answer is used, the reads are repeated, so a module that was reloaded,
// replaced or changed is noticed.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "python/tensor_object.hpp"

namespace sycl_ext {

// The Python functions that make a decision, and that carry it out if the core does not.
struct ExchangeHooks {
  PyObject *resolve = nullptr, *decide = nullptr, *carry_out = nullptr;
  std::uintptr_t max_alignment = 1;  // that a decision asks about, a power of two
};
inline ExchangeHooks exchange_hooks;

// The arguments of `exchange` after the array (borrowed).
struct ExchangeRequest {
  PyObject* consumer;
  PyObject* copy;       // None, True or False
  PyObject* host_copy;  // True or False
  PyObject* device;     // in any form of device=
  PyObject* usm_type;   // the kind of USM that is needed on a device; None: any
};

// One read of decisions.Reads: the value of `name` in the namespace `of`, or the result of the
// function `of`.
struct Read {
  PyRef of, name, value;
};

// Which code makes the object of the first attempt: decisions.Form.
enum class Form : std::uint8_t { python, host_view, tensor, on_device };

// decisions.Decision, with its `step`.
struct Decision {
  PyRef object;
  Form form;
  bool waits;
  PyRef call, then;              // nullptr: None
  PyRef device, copy, usm_type;  // of `on_device`
  std::vector<Read> reads;
};

struct Decided {
  PyRef source;  // the memory of the array, where it is
  std::shared_ptr<const Decision> decision;
};

// Resolves the consumer, finds the memory of `x`, and decides.  If one of these steps refuses, it
// throws PythonError or Error.
Decided decide_exchange(PyObject* x, const ExchangeRequest& request);

// The facts of a tensor: the fields of ArrayFacts in sycl_ext/_negotiation/array_facts.py.
std::uint64_t array_facts(const Tensor& tensor) noexcept;

}  // namespace sycl_ext
