// SPDX-License-Identifier: Apache-2.0
// Anything that has memory -> a tensor.  Views are made here: of a tensor, of a capsule, through a
// C exchange table, and by the two calls of DLPack's Python protocol.
//
// https://data-apis.org/array-api/latest/API_specification/generated/array_api.array.__dlpack__.html
//
// Everything else is one call of Python, which has the order of the protocols: import_slowly in
// sycl_ext/_protocols/imports.py.
#pragma once

#include <optional>

#include "python/tensor_object.hpp"

namespace sycl_ext {

struct ImportRequest {
  bool dlpack_only;            // as from_dlpack; else any protocol
  bool in_place = false;       // the memory stays where it is; host memory comes without an entry
  PyObject* copy = Py_None;    // None, True or False
  PyObject* device = Py_None;  // in any form of device= (borrowed)
};

// A new instance; nullptr with an exception set, or another exception.
PyObject* import_object(PyObject* x, const ImportRequest& request);

// Properties of a producer's class.
struct ProducerClass {
  // The bits of imports.Facts.
  static constexpr long from_dlpack = 1, as_tensor = 2, shows_queue = 4, has_lazy_state = 8,
                        is_base = 16, has_table = 32, is_tensor = 64;
  long facts;
  const DLPackExchangeAPI* table;  // the C exchange table; nullptr: it has none
};
ProducerClass producer_class(PyTypeObject* type);

// Whether it is a tensor of ours with the DLPack methods of ours: a subclass may override them.
bool has_our_dlpack(PyObject* object);

// A capsule of the producer `x` as a new tensor, checked.  `never_copy`: Error(copy_refused) for a
// copy.  `readonly`: whatever the capsule says.  `base` (borrowed): of the tensor.
PyRef import_capsule(PyObject* x, PyObject* capsule, const ImportOptions& options, bool never_copy,
                     bool readonly, PyObject* base);

// The C exchange table (DLPack 1.3), both ways: the one that our types offer as
// `__dlpack_c_exchange_api__`, and that of a producer.

// The name of a capsule over a C exchange table.
inline constexpr const char* exchange_api_name = "dlpack_exchange_api";

// A capsule over the table, for the types.
PyObject* exchange_api_capsule();

// Imports through the table of the producer's type.  Nothing: the type has none, or one that cannot
// be believed for this object; the Python protocol is used then.
std::optional<Imported> import_through_api(PyObject* producer, const ProducerClass& its_class,
                                           ImportOptions options = {});

}  // namespace sycl_ext
