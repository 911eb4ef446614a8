// SPDX-License-Identifier: Apache-2.0
// The queues of dpctl: the one that it keeps for a device and a context, which everybody in the
// process shares (dpctl.get_device_cached_queue), and those that others show.
#pragma once

#include "python/gil.hpp"
#include "runtime/devices/entry.hpp"

namespace sycl_ext {

// The shared queue of an entry, as a dpctl.SyclQueue.  Under the GIL.
PyRef shared_queue(const Entry& entry);

// The queue in a dpctl.SyclQueue; empty: the object is none.  Under the GIL.
Queue queue_of_dpctl(PyObject* object);

// Answers what the core asks of dpctl: `shared_queue_of` and `find_noted_events`.
void answer_for_dpctl() noexcept;

}  // namespace sycl_ext
