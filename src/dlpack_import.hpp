// SPDX-License-Identifier: Apache-2.0
// Floor 6. DLManagedTensor[Versioned] -> Tensor.  Everything that a consumer can check about a
// stranger's struct is checked here, before any of it is believed.
#pragma once

#include "tensor.hpp"

namespace sycl_ext {

struct Imported {
  Tensor tensor;
  bool copied;  // the producer says that the memory was made for us alone
};

// Takes `managed` over: its deleter runs exactly once, when the last view of the memory goes or
// when this call throws.  A kDLCPU tensor comes in as host memory of no row, or (`settle`) as the
// default device sees it; a kDLOneAPI tensor as USM of the row with its device id.  `expected` (may
// be nullptr) is what the producer's
// __dlpack_device__ answered.  Error(buffer) says what is wrong.
template <class Managed>
Imported import_managed(Managed* managed, const DLDevice* expected, bool settle = false);

}  // namespace sycl_ext
