// SPDX-License-Identifier: Apache-2.0
// Queues as Python objects, and the queues of dpctl: the shared queue of a device and a context,
// which dpctl keeps (dpctl.get_device_cached_queue), and queues that callers pass as a
// dpctl.SyclQueue.  Where there is no dpctl, Python gets a queue as a `_core.Queue`.
#pragma once

#include "python/gil.hpp"
#include "runtime/memory/usm.hpp"

namespace sycl_ext {

// The shared queue of an entry: a dpctl.SyclQueue, or a `_core.Queue` of this package.  Under the
// GIL.
PyRef shared_queue(const Entry& entry);

// The same queue in an object of its own, which tensors of the entry show to other code; it lives
// as long as the process.  Under the GIL.
PyRef shown_queue(const Entry& entry);
// Called before work on the memory is looked for: other code that got this queue may no longer hold
// it.  Then it can submit nothing more, and the queue counts until it is seen idle.
void notice_released_queue(const Memory& memory) noexcept;

// The queue in a dpctl.SyclQueue; empty: the object is not a dpctl.SyclQueue.  Under the GIL.
Queue queue_of_dpctl(PyObject* object);

// Of the table that the core calls (base/host.hpp).
void find_events_of_dpctl(const Queue& queue, std::vector<Event>* events);
Queue cached_queue_of_dpctl(const Entry& entry);

}  // namespace sycl_ext
