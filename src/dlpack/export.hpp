// SPDX-License-Identifier: Apache-2.0
// Tensor -> DLManagedTensor[Versioned]: one template for both ABIs, one allocation per
// managed tensor, and a deleter that needs neither the GIL nor a living interpreter.
#pragma once

#include <atomic>
#include <memory>

#include "tensor/tensor.hpp"

namespace sycl_ext {

// Tells its holder that an export has ended.  The deleter only sets it, so it needs no GIL.
struct ExportMark {
  std::atomic<bool> has_ended{false};
};

struct ExportOptions {
  DLDevice device;  // the label that the consumer requested
  // The memory was made only for this consumer: DLPACK_FLAG_BITMASK_IS_COPIED.
  bool copied = false;
  // An array without elements is exported with a NULL pointer, as DLPack asks for; a few consumers
  // need an address all the same.
  bool null_data = true;
  // The queue that the consumer named for its work; nullptr: it named none.
  const Queue* queue = nullptr;
  std::shared_ptr<ExportMark> mark = nullptr;  // of a traced export
};

// The caller owns the result and calls its deleter once.  Error(buffer): the legacy struct cannot
// say "read-only".  Defined for DLManagedTensor and DLManagedTensorVersioned.
template <class Managed>
Managed* export_managed(const Tensor& tensor, ExportOptions options);

// The handle of a managed tensor that was exported here; nullptr if it was not.
template <class Managed>
InUse* own_export(const Managed* managed) noexcept;

// Fills a DLTensor that lives no longer than `tensor`.
void write_dl_tensor(const Tensor& tensor, DLDevice device, DLTensor* out) noexcept;

// Live managed tensors: their deleter has not run yet.
long live_exports() noexcept;

}  // namespace sycl_ext
