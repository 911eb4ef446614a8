// SPDX-License-Identifier: Apache-2.0
// PyCapsules: the four DLPack names, wrapping, consuming exactly once.
#pragma once

#include "dlpack/export.hpp"
#include "dlpack/import.hpp"
#include "python/gil.hpp"

namespace sycl_ext {

// A new capsule over an export of the tensor.
PyObject* make_capsule(const Tensor& tensor, bool versioned, ExportOptions options);

// A new capsule over a managed tensor that C code made; takes it over.
PyObject* capsule_from_pointer(void* managed, bool versioned);

// Consumes a "dltensor" or "dltensor_versioned" capsule: it is renamed before anything is read, so
// that the deleter runs exactly once on every path.  Error(type): no such capsule; Error(buffer): a
// used one, or one whose content is refused.
Imported consume_capsule(PyObject* capsule, const ImportOptions& options = {});

}  // namespace sycl_ext
