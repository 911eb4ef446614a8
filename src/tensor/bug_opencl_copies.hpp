// SPDX-License-Identifier: Apache-2.0
// Works around a bug of the OpenCL adapter: it makes two commands of a copy between memory of two
// devices of a platform, shared USM included, and frees their block in a callback, in which
// libintelocl waits for itself.  So the copy never ends.  (urEnqueueUSMMemcpy in
// https://github.com/oneapi-src/unified-runtime/blob/main/source/adapters/opencl/usm.cpp)
//
// Report: none so far.
// Repaired in: no release so far (2026.2.0 has it).
// Then: delete this file, and the two lines in copy.cpp that call it.
#pragma once

#include "runtime/memory/usm.hpp"

namespace sycl_ext::bug {

// Whether a command of an entry must not take this memory.
inline bool never_ends(const Memory& memory, const Entry& entry) {
  const bool is_on_device = memory->kind == UsmKind::device || memory->kind == UsmKind::shared;
  return is_on_device && memory->entry && entry.backend == "opencl" &&
         same_context(*memory->entry, entry) && memory->entry->root_id != entry.root_id;
}

}  // namespace sycl_ext::bug
