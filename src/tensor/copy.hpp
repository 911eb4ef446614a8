// SPDX-License-Identifier: Apache-2.0
// The copy engine: any strides on both sides, host and device on either side.
//
// But for those named begin_*, every function returns when the data has arrived.  None of them
// touches Python.  They release the GIL where the runtime is called, and around long host copies.
#pragma once

#include <utility>
#include <vector>

#include "tensor/tensor.hpp"

namespace sycl_ext {

// Later work on the queue comes after the work submitted to the queues of the memory so far, or
// after the copies on the queue of this package.
void order_after(const Queue& queue, const Memory& memory, bool only_copies = false);

// Error(buffer) unless a copy may write to it: it is read-only, or several of its indices share one
// element.
void require_target(const Tensor& to);

// Copies the elements of `from` to `to`, for which require_target() holds; both have one shape and
// one dtype.  Pending work on both is waited for first.
// `from` and `to` may overlap in any way (a temporary copy is then made).
void copy_elements(const Tensor& to, const Tensor& from);

// The same, as one command that goes on when this returns, if one command can do it; an empty
// event: the copy is done.  The command comes after the work that is pending on both blocks and on
// the queue of its entry; what comes later on our own queues comes after it.  Both sides stay alive
// until it is done.
Event begin_copy(const Tensor& to, const Tensor& from);
// A fresh host copy, compact in C order: USM where one command copies there, else pageable memory.
std::pair<Tensor, Event> begin_copy_to_host(const Tensor& from);
// The ends of the work that is pending on the memory.
std::vector<Event> pending(const Memory& memory);

// A fresh host copy, compact in C order, page-aligned.
Tensor copy_to_host(const Tensor& from);

// A fresh compact copy of kind `kind` on `entry`.
Tensor copy_to_entry(const Tensor& from, const Entry& entry, UsmKind kind, Order order = Order::c,
                     Queue queue = {});

// A zeroed tensor needs no staging: the runtime's own memset, or memset where the host can reach.
void fill_zero(const Tensor& compact);

}  // namespace sycl_ext
