// SPDX-License-Identifier: Apache-2.0
// The DLPack C exchange API (1.3), both ways: the table that our types offer as
// `__dlpack_c_exchange_api__`, and the use of a producer's table.
#pragma once

#include <optional>

#include "python/tensor_object.hpp"

namespace sycl_ext {

// A capsule over the table, for the types.
PyObject* exchange_api_capsule();

// Whether a tensor of torch asks for autograd, or is conjugated or negated lazily.  torch's
// __dlpack__ refuses the first two (not the negated ones), and its table (2.13) none: they export
// the memory as it lies, which is wrong data for the lazy bits, and pass autograd by.
bool has_lazy_state(PyObject* producer);

// Imports through the table of the producer's type.  Nothing: the type has none, or one that cannot
// be believed for this object; the Python protocol is used then.
std::optional<Imported> import_through_api(PyObject* producer, const ImportOptions& options);

}  // namespace sycl_ext
