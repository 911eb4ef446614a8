// SPDX-License-Identifier: Apache-2.0
// Events by which the queues of two processes are ordered, without the host.
//
// These are the inter-process events of SYCL (sycl_ext_oneapi_inter_process_communication), which
// libsycl has since 2026.2.  A driver may share the latest state of such an event, or the state
// that it had when its bytes were taken.  So here an event is signaled once, before its bytes are
// taken.
#pragma once

#include <string>
#include <vector>

#include "base/owner.hpp"
#include "runtime/sycl/queue.hpp"

namespace sycl {
inline namespace _V1 {
class device;
}
}  // namespace sycl

namespace sycl_ext {

// Why a device has no such events; empty: it has.
std::string why_no_ipc_events(const sycl::device& device);

// An event for other processes.
struct IpcEvent {
  std::string bytes;  // another process opens it with them as long as `event` exists
  Owner event;
  // The places (OthersEvent) of events of other processes that come before it.
  std::vector<std::string> places_before = {};
};
// The end of all commands of an in-order queue so far.
IpcEvent signal_event(const Queue& queue);

// An event of another process.
struct OthersEvent {
  // The runtime uses them without a check, as those of an inter-process handle (memory/ipc.hpp).
  std::string bytes;
  int process;
  std::string place;  // AwaitedEvent::place
};
// Orders later commands of in-order queues of this package after an event of another process.  A
// wait for such a queue, or for one that was ordered after it, raises an error if that process ends
// before the event does.
//
// `is_ordered`: they come after it already, because they come after a later event; it is opened for
// that error alone.
void wait_for_event(const std::vector<Queue>& queues, const OthersEvent& others,
                    bool is_ordered = false);

}  // namespace sycl_ext
