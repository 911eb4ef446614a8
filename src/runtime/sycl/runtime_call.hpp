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

namespace sycl_ext {

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

// Ends the process, with the name of the call, when one is made by a thread that holds the GIL;
// nullptr, the default: nothing is asked.
void check_gil_at_runtime_calls(bool (*holds_gil)() noexcept) noexcept;

// Whether the process is ending: the runtime is then not called, and remaining memory is not freed.
bool is_process_ending() noexcept;

}  // namespace sycl_ext
