// SPDX-License-Identifier: Apache-2.0
// DLManagedTensor[Versioned] -> Tensor.  Everything that a consumer can check about a
// third party's struct is checked here, before any of it is believed.
#pragma once

#include "tensor/tensor.hpp"

namespace sycl_ext {

struct Imported {
  Tensor tensor;
  bool copied;  // the producer says that the memory was made only for us
};

struct ImportOptions {
  // The result of the producer's __dlpack_device__; nullptr: it was not called.
  const DLDevice* expected = nullptr;
  // kDLCPU memory that is USM comes in as that USM, and not as host memory of no entry.
  bool settle = false;
  // Of an export of our own; the entry and kind of its memory are known.
  InUse* known = nullptr;
  // With `settle`: the entry that other host memory comes in on, because its device reads that.
  const Entry* host_reader = nullptr;
  // The queue that work on kDLOneAPI memory goes to, and whose entry that memory is on: the
  // announced one or a part of it; nullptr: the entry announced, and its queue.
  const Queue* queue = nullptr;
};

// Takes `managed` over: its deleter runs exactly once, when the last view of the memory goes or
// when this call throws.  A kDLOneAPI tensor comes in as USM of the entry with its device id.
// Error(buffer) describes the problem.
template <class Managed>
Imported import_managed(Managed* managed, const ImportOptions& options);

}  // namespace sycl_ext
