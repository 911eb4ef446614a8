// SPDX-License-Identifier: Apache-2.0
// An import through the C exchange table (DLPack 1.3) of a producer's class.
#pragma once

#include <optional>

#include "python/producer_class.hpp"

namespace sycl_ext {

// Nothing: the class has no table, or one that cannot be believed for this object; the Python
// protocol is used then.
std::optional<Imported> import_through_api(PyObject* x, const ProducerClass& producer,
                                           ImportOptions options = {});

}  // namespace sycl_ext
