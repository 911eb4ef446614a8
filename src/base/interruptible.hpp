// SPDX-License-Identifier: Apache-2.0
// Waits that Ctrl-C can end.
#pragma once

#include <functional>

namespace sycl_ext {

// Runs `wait`, which blocks and must own all that it needs.  Ctrl-C can end it, although no call of
// the SYCL runtime can be interrupted: the thread that signals may interrupt hands its wait to a
// detached thread, and looks every now and then whether a signal has come.  When a handler raises,
// the caller goes on, and the detached thread stays in the wait until the device is done.
void wait_interruptibly(std::function<void()> wait);

// The number of interrupted waits that have not ended, and of the wait of the main thread.
int interrupted_waits() noexcept;

}  // namespace sycl_ext
