// SPDX-License-Identifier: Apache-2.0
// Calls into the SYCL runtime that take a queue's lock or can wait.
//
// libsycl keeps a queue locked while it waits for a host task, and a host task may want the GIL;
// the v1 Level Zero adapter keeps a queue locked while urQueueFinish waits.  So no such call is
// made by a thread that holds the GIL.  (Questions about pointers, devices and contexts take no
// such lock.)
//
// At the end of the process the runtime destroys its static objects.  A thread that is in the
// runtime then (a daemon thread, a wait that Ctrl-C ended) would call a destroyed object, and
// abort.  So the process ends without those destructors when a thread is still in the runtime, and
// no thread but the main one enters it any more.
//
// A fork waits until no thread is in a brief call: the runtime and its drivers have locks of their
// own (libintelocl's allocator has one), which would stay locked in the child for ever.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

#include "runtime/sycl/handles.hpp"

namespace sycl_ext {

// What fork and the end of the process have to know, and only the folders above this one do.
// nullptr: there is none of it.
struct PendingWork {
  // Whether commands of this package may be pending.
  std::atomic<bool (*)() noexcept> may_have_commands{nullptr};
  // The number of blocks that wait for pending work, to be freed after it.
  std::atomic<std::size_t (*)() noexcept> deferred_frees{nullptr};
};
inline PendingWork pending_work;

// Every such call is made while one of these lives.  `waits`: it lasts as long as the work that it
// waits for.  A fork does not wait for it; the end of the process does, for a moment.
class RuntimeCall {
 public:
  explicit RuntimeCall(const char* what, bool waits = false) noexcept;
  ~RuntimeCall();
  RuntimeCall(const RuntimeCall&) = delete;

 private:
  const bool waits_;
};

// Makes such a call; exceptions of SYCL become Error(runtime) with their text.
template <class Call>
auto locked_call(const char* what, Call&& call) -> decltype(call()) {
  return sycl_call(what, [&] {
    const RuntimeCall counted(what);
    return std::forward<Call>(call)();
  });
}

// Ends the process, with the name of the call, when one is made by a thread that holds the GIL;
// nullptr, the default: nothing is asked.
void check_gil_at_runtime_calls(bool (*holds_gil)() noexcept) noexcept;

// Whether the process is ending: the runtime is then not called, and remaining memory is not freed.
bool is_process_ending() noexcept;

}  // namespace sycl_ext
