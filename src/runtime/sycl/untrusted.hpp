// SPDX-License-Identifier: Apache-2.0
// Checks addresses that callers claim to be those of a sycl::queue or a sycl::context: an int, a
// capsule, a stream of a C table.
//
// A wrong address raises an error instead of a crash.  No memory there is read before a system call
// has said that it is readable.  A SYCL object of libstdc++ is one shared_ptr; its control block
// must have the vtable that this process's libsycl uses for the class, count an owner, and lie in
// front of the object.  So other objects are refused, and so are destroyed ones, because the
// allocator overwrites the vtable.  Forged bytes are not detected: code that can forge them can
// write anywhere in this process.
#pragma once

#include "runtime/sycl/queue.hpp"

namespace sycl_ext {

// A copy of the sycl::queue at an address.  Error(value): no queue of this process's SYCL runtime
// can be there; an object of another SYCL runtime is refused by the name of its library.
Queue queue_at_untrusted(const void* address);

// Requires that a sycl::context is at an address, as above; makes no copy.
void require_context_at(const void* address);

}  // namespace sycl_ext
