// SPDX-License-Identifier: Apache-2.0
// Addresses that are said to be those of a sycl::queue or a sycl::context: an int, a
// capsule, a stream of a C table.
//
// Nothing at such an address is followed before it is checked, and no memory is read before a
// system call has said that it can be.  A SYCL object of libstdc++ is one shared_ptr; its control
// block must be one of our libsycl, count owners, and lead to an object that refers to it.  Freed,
// overwritten and foreign objects are refused.  A forgery is not: code that can make one can write
// anywhere in this process.
#pragma once

#include "runtime/sycl/queue.hpp"

namespace sycl_ext {

// A copy of the sycl::queue at an address.  Error(value): no queue of this process's SYCL runtime
// can be there; an object of another SYCL runtime is refused by the name of its library.
Queue queue_at_untrusted(const void* address);

// The same for a sycl::context, without taking it.
void require_context_at(const void* address);

}  // namespace sycl_ext
