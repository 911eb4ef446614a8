// SPDX-License-Identifier: Apache-2.0
// The DLPack C exchange API (1.3), both ways: the table that our types offer as
// `__dlpack_c_exchange_api__`, and the use of a producer's table.
#pragma once

#include <optional>

#include "python/imports.hpp"

namespace sycl_ext {

// The name of a capsule over a C exchange table.
inline constexpr const char* exchange_api_name = "dlpack_exchange_api";

// A capsule over the table, for the types.
PyObject* exchange_api_capsule();

// Imports through the table of the producer's type.  Nothing: the type has none, or one that cannot
// be believed for this object; the Python protocol is used then.
std::optional<Imported> import_through_api(PyObject* producer, const ProducerClass& its_class,
                                           const ImportOptions& options = {});

}  // namespace sycl_ext
