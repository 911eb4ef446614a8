// SPDX-License-Identifier: Apache-2.0
// What is known about the class of a producer.
#pragma once

#include "python/tensor_object.hpp"

namespace sycl_ext {

// The name of a capsule over a C exchange table (DLPack 1.3).
inline constexpr const char* exchange_api_name = "dlpack_exchange_api";

// Properties of a producer's class.
struct ProducerClass {
  // The first bits of ProducerFacts in sycl_ext/_protocols/producer_facts.py.
  static constexpr long from_dlpack = 1, as_tensor = 2, shows_queue = 4, has_lazy_state = 8,
                        is_base = 16, has_table = 32, is_tensor = 64;
  long facts;
  const DLPackExchangeAPI* table;  // the C exchange table; nullptr: it has none
};
ProducerClass producer_class(PyTypeObject* type);

// Whether an object is a tensor of this package that has the DLPack methods of this package.  A
// subclass may override them.
bool has_our_dlpack(PyObject* object);

}  // namespace sycl_ext
