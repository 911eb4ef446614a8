// SPDX-License-Identifier: Apache-2.0
// Calls into the SYCL runtime that take a queue's lock or can wait.
//
// No thread that holds the GIL makes such a call, because it would be a deadlock.  libsycl keeps a
// queue locked while it waits for a host task, and a host task may want the GIL. The v1 Level Zero
// adapter keeps a queue locked while urQueueFinish waits.  (Questions about pointers, devices and
// contexts take no such lock.)
//
// At the end of the process the runtime destroys its static objects, and a thread that is still in
// the runtime (a daemon thread, a wait that Ctrl-C ended) would use them and abort.  So if a thread
// is still in the runtime, the process ends without these destructors.  From then on only the main
// thread enters the runtime.
//
// A fork waits until no thread is in a brief call.  The runtime and its drivers have locks of their
// own, such as that of libintelocl's allocator, which would otherwise stay locked in the child for
// ever.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

#include "runtime/sycl/handles.hpp"

namespace sycl_ext {

// What fork and the end of the process need to know from the folders above this one.  nullptr: the
// folder was not used.
struct PendingWork {
  // Whether commands of this package may be pending.
  std::atomic<bool (*)() noexcept> may_have_commands{nullptr};
  // The number of blocks that are kept until pending work on them is done.
  std::atomic<std::size_t (*)() noexcept> deferred_frees{nullptr};
};
inline PendingWork pending_work;

// Exists during each such call.  `waits`: the call lasts as long as the work that it waits for.  A
// fork does not wait for such a call; the end of the process waits for a moment.
class RuntimeCall {
 public:
  explicit RuntimeCall(const char* what, bool waits = false) noexcept;
  ~RuntimeCall();
  RuntimeCall(const RuntimeCall&) = delete;

 private:
  const bool waits_;
};

// Whether this thread is in such a call, in which the runtime may hold the lock of a queue.
bool is_in_runtime() noexcept;

// Makes such a call.  Exceptions of SYCL become Error(runtime) with their text.
template <class Call>
auto locked_call(const char* what, Call&& call) -> decltype(call()) {
  return sycl_call(what, [&] {
    const RuntimeCall counted(what);
    return std::forward<Call>(call)();
  });
}

// Whether the process is ending.  Then the runtime is not called, and the remaining memory is not
// freed.
bool is_process_ending() noexcept;

}  // namespace sycl_ext
