// SPDX-License-Identifier: Apache-2.0
// Waits that Ctrl-C can end, although no call of the SYCL runtime can be interrupted.
//
// The thread that signals may interrupt hands its wait to a detached thread, and looks every now
// and then whether a signal has come.  When a handler raises, the wait is interrupted: the caller
// goes on, and the detached thread stays in the wait until the device is done.
#pragma once

#include <functional>

namespace sycl_ext {

// Runs `wait`, which blocks and must own all that it needs.
void wait_interruptibly(std::function<void()> wait);

// How many interrupted waits have not ended yet.
int interrupted_waits() noexcept;

}  // namespace sycl_ext
