// SPDX-License-Identifier: Apache-2.0
// What the class of an object says about it as a producer.
//
// Looking through the dicts of a class and of those that it is made from takes as long as the rest
// of an import.  So the findings are remembered under the version that CPython gives a class, which
// is another one as soon as somebody changes the class or one of those.
// https://docs.python.org/3/c-api/typeobj.html#c.PyTypeObject.tp_version_tag
#pragma once

#include <dlpack/dlpack.h>

#include "python/gil.hpp"

namespace sycl_ext {

// Which attribute a class has, or one that it is made from (to compare, and not to follow);
// nullptr: there is none.  Runs no descriptor and no __getattr__.
const void* find_in_class(PyTypeObject* type, PyObject* name);

// What the capsule over a C exchange table is named.
inline constexpr const char* exchange_api_name = "dlpack_exchange_api";

struct ProducerClass {
  bool has_dlpack;
  // The C exchange table; nullptr: it has none, or has a __dlpack__ of its own and merely inherits
  // the table, which would pass that method by.
  const DLPackExchangeAPI* table;
  // What says of a tensor of torch that its memory is not what the tensor is: the names of an
  // attribute and of two methods (strings, borrowed); nullptr: the class has none of that name.
  PyObject *requires_grad, *is_conj, *is_neg;
};
ProducerClass producer_class(PyTypeObject* type);

// What Python knows about the producers of a class: the bits of imports.traits_of.
struct Traits {
  static constexpr long immutable = 1, has_negative_bit = 2, shows_queue = 4,
                        waits_in_description = 8;
};
long traits_of(PyTypeObject* type);

}  // namespace sycl_ext
