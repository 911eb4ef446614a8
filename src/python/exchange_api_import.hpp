// SPDX-License-Identifier: Apache-2.0
// An import through the C exchange table (DLPack 1.3) of a producer's class.
#pragma once

#include <optional>

#include "python/producer_class.hpp"

namespace sycl_ext {

// nullopt: the class has no table, or the table cannot be trusted for this object.  The Python
// protocol is used then.
std::optional<Imported> import_through_api(PyObject* x, const ProducerClass& producer,
                                           ImportOptions options = {});

}  // namespace sycl_ext
