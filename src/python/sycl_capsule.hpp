// SPDX-License-Identifier: Apache-2.0
// Capsules over new references to SYCL objects, in the form that dpctl reads and writes.
#pragma once

#include "python/gil.hpp"

namespace sycl_ext {

// A "SyclQueueRef" capsule or its like.  dpctl renames one that it has read, and leaves the object
// to us.  nullptr with an exception set: there is no memory, and the reference is gone.
template <void (*Delete)(void*)>
PyObject* reference_capsule(void* reference, const char* name) {
  PyObject* const capsule = PyCapsule_New(reference, name, [](PyObject* self) {
    const SavedException saved;
    Delete(PyCapsule_GetPointer(self, PyCapsule_GetName(self)));
  });
  if (!capsule) Delete(reference);
  return capsule;
}

}  // namespace sycl_ext
