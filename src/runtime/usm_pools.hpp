// SPDX-License-Identifier: Apache-2.0
// Blocks that are kept for the next allocations: for each kind of USM of an entry in the default
// context, and for host memory.
#pragma once

#include <cstddef>

#include "runtime/device_table.hpp"

namespace sycl_ext {

// In all of these, no entry stands for host memory.

// Gives a block back to the runtime, at once.  After a fork it is the parent's, and at the end of
// the process the runtime may be gone: then nothing is done.
void free_block(void* block, const Entry* entry) noexcept;

// A kept block for at least `nbytes`, with its true size.
KeptBlock take_kept(const Entry* entry, UsmKind kind, std::size_t nbytes) noexcept;
// Keeps a block, or frees it: of a private context nothing is kept.
void keep(const KeptBlock& block, const Entry* entry, UsmKind kind) noexcept;

// Bytes of the blocks that are kept for the next allocations.
std::size_t kept_bytes(const Entry* entry, UsmKind kind) noexcept;
// Gives them back to the runtime.
void release_cached_memory() noexcept;

}  // namespace sycl_ext
