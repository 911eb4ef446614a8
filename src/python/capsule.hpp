// SPDX-License-Identifier: Apache-2.0
// PyCapsules: the four DLPack names, wrapping, consuming exactly once.
#pragma once

#include "dlpack/export.hpp"
#include "dlpack/import.hpp"
#include "python/gil.hpp"

namespace sycl_ext {

// A new capsule that exports the tensor.
PyObject* make_capsule(const Tensor& tensor, bool versioned, ExportOptions options);

// A new capsule over a managed tensor that C code made.  The capsule owns the managed tensor.
PyObject* capsule_from_pointer(void* managed, bool versioned);

// Consumes a "dltensor" or "dltensor_versioned" capsule.  The capsule is renamed before anything is
// read, so the deleter runs exactly once on every path.  Error(buffer): the object is not such a
// capsule, the capsule was used before, or its content is refused.
Imported consume_capsule(PyObject* capsule, const ImportOptions& options = {});

}  // namespace sycl_ext
