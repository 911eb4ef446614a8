// SPDX-License-Identifier: Apache-2.0
// Addresses that are said to be those of a sycl::queue or a sycl::context: an int, a
// capsule, a stream of a C table.
//
// No memory at such an address is read before a system call has said that it can be.  A SYCL object
// of libstdc++ is one shared_ptr; its control block must have the vtable of this process's libsycl
// for that class, count an owner, and be in front of the object.  So what is not such an object is
// refused, and so is one that was destroyed: the allocator overwrites the vtable.  Bytes that were
// made to look so are not: code that can make them can write anywhere in this process.
#pragma once

#include "runtime/sycl/queue.hpp"

namespace sycl_ext {

// A copy of the sycl::queue at an address.  Error(value): no queue of this process's SYCL runtime
// can be there; an object of another SYCL runtime is refused by the name of its library.
Queue queue_at_untrusted(const void* address);

// The same for a sycl::context, without taking it.
void require_context_at(const void* address);

}  // namespace sycl_ext
