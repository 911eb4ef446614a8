// SPDX-License-Identifier: Apache-2.0
// DLManagedTensor[Versioned] -> Tensor.  Everything that a consumer can check about a
// third party's struct is checked here, before any of it is believed.
#pragma once

#include "base/host.hpp"
#include "dlpack/export.hpp"

namespace sycl_ext {

struct Imported {
  Tensor tensor;
  bool copied;  // the producer says that the memory was made only for us
  // An export of this package that a producer returned to it.  It keeps the memory (MemoryKeeper)
  // until an instance shows the tensor to the garbage collector.
  Owner returned = Owner(nullptr, nullptr);
};

struct ImportOptions {
  // The result of the producer's __dlpack_device__; nullptr: it was not called.
  const DLDevice* expected = nullptr;
  // kDLCPU memory that is USM comes in as that USM, and not as host memory of no entry.
  bool find_usm = false;
  // With `find_usm`: the entry for host memory that is not USM, because its device reads host
  // memory.
  const Entry* host_reader = nullptr;
  // The producer's queue for kDLOneAPI memory.  If it belongs to the announced entry, the tensor
  // gets this queue and the entry of the queue; otherwise the import waits for the queue.  nullptr:
  // the tensor uses the queue of the announced entry, because a producer that was asked has ordered
  // its work before later work on that queue.
  const Queue* queue = nullptr;
  // An export of this package that no other code had, so that nothing was submitted on it.
  bool is_untouched = false;
};

// Calls the deleter of a managed tensor, once.  A deleter of this package needs neither the GIL nor
// the interpreter.
template <class Managed>
void call_deleter(void* object) {
  const auto call = [](void* address) {
    auto* const managed = static_cast<Managed*>(address);
    if (managed->deleter) managed->deleter(managed);  // NULL is allowed: nothing to release
  };
  const bool is_ours = own_export(static_cast<Managed*>(object));
  const Host* const python = is_ours ? nullptr : host.load();
  if (python) {
    python->call_deleter(call, object);
  } else {
    call(object);
  }
}

// Takes `managed` over: its deleter runs exactly once, when the last view of the memory goes or
// when this call throws.  A kDLOneAPI tensor comes in as USM of the entry with its device id.
// Error(buffer) describes the problem.
template <class Managed>
Imported import_managed(Managed* managed, ImportOptions options);

}  // namespace sycl_ext
