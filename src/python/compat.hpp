// SPDX-License-Identifier: Apache-2.0
// What Python's C API has under a public name from 3.13 on, for older versions: the same functions
// under the names that they had, as pythoncapi-compat maps them
// (https://github.com/python/pythoncapi-compat, which is in no package index).
#pragma once

#include <Python.h>

namespace sycl_ext {

// https://docs.python.org/3/c-api/init.html#c.Py_IsFinalizing
inline bool is_finalizing() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing();
#else
  return _Py_IsFinalizing();
#endif
}

// The state that holds the GIL now, or nullptr; it may be another thread's.
// https://docs.python.org/3/c-api/init.html#c.PyThreadState_GetUnchecked
inline PyThreadState* state_unchecked() noexcept {
#if PY_VERSION_HEX >= 0x030D0000
  return PyThreadState_GetUnchecked();
#else
  return _PyThreadState_UncheckedGet();
#endif
}

}  // namespace sycl_ext
