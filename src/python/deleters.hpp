// SPDX-License-Identifier: Apache-2.0
// Third-party code that releases objects: deleters of DLPack, and the last reference to a Python
// object.  It runs with the GIL, in any thread, until the interpreter begins to end.
//
// Such code may release the GIL and take it again, as torch's does while it frees a tensor.  Before
// 3.14 CPython ends a thread that takes the GIL while the interpreter is ending, by unwinding its
// stack; at a noexcept, and C++ destructors are noexcept, that ends the process
// (forced_unwind.hpp).  So no thread may be inside such code when the interpreter begins to end.
#pragma once

namespace sycl_ext {

// The implementation of Host::call_deleter.  A pending exception stays set, and one that the
// deleter sets is cleared.
void call_deleter_of_others(void (*deleter)(void*), void* object);

// Drops a reference from any thread, with or without the GIL.
void release_python_object(void* object);

// Called, without the GIL, when the interpreter begins to end.  From then on only this thread runs
// such code, and the system reclaims the rest.  Waits until the other threads have returned from
// it, for two seconds at most.
void end_deleters();

}  // namespace sycl_ext
