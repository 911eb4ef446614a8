// SPDX-License-Identifier: Apache-2.0
// The copy engine: any strides on both sides, host and device on either side.
//
// Every function returns when the data has arrived, except those named begin_*. The functions do
// not use Python.  They release the GIL where they call the runtime, and around long host copies.
#pragma once

#include <utility>
#include <vector>

#include "tensor/tensor.hpp"

namespace sycl_ext {

// Orders later work on the queue after the work that was submitted so far to the queues of the
// memory, or only after the copies of this package.
void order_after(const Queue& queue, const Memory& memory, bool only_copies = false);

// Error(buffer) unless a copy may write to the tensor.  It may not if the tensor is read-only, or
// if several of its indices share an element.
void require_target(const Tensor& to);

// Copies the elements of `from` to `to`, for which require_target() holds.  Both have the same
// shape and dtype.  Pending work on both is waited for first.  `from` and `to` may overlap in any
// way; a temporary copy is then made.
void copy_elements(const Tensor& to, const Tensor& from);

// Starts the copy as one command that goes on in the background, if one command can do it.  An
// empty event: the copy is done.  The command comes after pending work on both blocks and on the
// queue of its entry.  Later work on the queues of this package comes after the command.  Both
// sides stay alive until the command is done.
Event begin_copy(const Tensor& to, const Tensor& from);
// A new host copy, compact in C order: USM if one command copies there, else pageable memory.
std::pair<Tensor, Event> begin_copy_to_host(const Tensor& from);
// The events at the end of all pending work on the memory.
std::vector<Event> pending(const Memory& memory);

// A new host copy, compact in C order, page-aligned.
Tensor copy_to_host(const Tensor& from);

// A new compact copy of kind `kind` on `entry`.
Tensor copy_to_entry(const Tensor& from, const Entry& entry, UsmKind kind, Order order = Order::c,
                     Queue queue = {});

// Fills a tensor with zeros without staging: by memset() if the host can reach the memory,
// otherwise by the memset of the runtime.
void fill_zero(const Tensor& compact);

}  // namespace sycl_ext
