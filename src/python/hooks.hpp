// SPDX-License-Identifier: Apache-2.0
// The functions and objects of the Python package that the core uses: the one table of them.
// docs/develop/design.md says what each is for ("Calls of the core").
#pragma once

#include <Python.h>

namespace sycl_ext {

// Passed by sycl_ext/_tensor/hooks.py when the package is imported.
#define SYCL_EXT_HOOKS(hook) \
  hook(continue_import);     \
  hook(continue_export);     \
  hook(continue_host_view);  \
  hook(continue_to_numpy);   \
  hook(continue_new_tensor); \
  hook(continue_to_device);  \
  hook(facts_of_class);      \
  hook(queue_of_dpctl);      \
  hook(numpy_dtype);         \
  hook(make_room);           \
  hook(is_refusal);          \
  hook(tensor_class);        \
  hook(host_view_class);     \
  hook(device_class);        \
  hook(copy_refused_error);  \
  hook(sycl_error);          \
  hook(device_ids);          \
  hook(dtype_indices);       \
  hook(usm_kinds)
// Passed by sycl_ext/_exchange/exchange.py when that is imported, before its first call.
#define SYCL_EXT_EXCHANGE_HOOKS(hook) \
  hook(read_target);                  \
  hook(decide);                       \
  hook(run_attempts)

// Each function is called with the GIL, and without a lock of the core.
struct Hooks {
#define SYCL_EXT_DECLARE(name) PyObject* name = nullptr
  SYCL_EXT_HOOKS(SYCL_EXT_DECLARE);
  SYCL_EXT_EXCHANGE_HOOKS(SYCL_EXT_DECLARE);
#undef SYCL_EXT_DECLARE
  // Whether a log is written: then every exchange goes through Python, which writes it.
  bool trace = false;
};
inline Hooks hooks;

}  // namespace sycl_ext
