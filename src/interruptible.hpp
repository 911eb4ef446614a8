// SPDX-License-Identifier: Apache-2.0
// Floor 1. Waits that Ctrl-C can end, although no call of the SYCL runtime can be interrupted.
//
// Polling alone need not make a backend go on, so a wait that takes long is done by a thread of its
// own, and the thread that waits for it looks every now and then whether it is still wanted.  Then
// it gives up; the other thread stays until the device is done.
#pragma once

#include <functional>

namespace sycl_ext {

// What may end a wait; Python's side sets it.
struct Interrupts {
  bool (*possible)() noexcept;  // in this thread
  void (*check)();              // throws to end the wait
};
void set_interrupts(const Interrupts* interrupts) noexcept;  // valid for ever

// Runs `wait`, which blocks and must own all that it needs.  `done`: whether it would return at
// once; must not throw.
void wait_interruptibly(const std::function<bool()>& done, const std::function<void()>& wait);

// Whether the last wait of this thread was given up: what it waited for may still be going on.
bool gave_up() noexcept;

// Runs `body`, which must not throw, in a thread that nobody joins.  Throws when there is none to
// be had.
void run_aside(std::function<void()> body);
// How many of those there are, and of those that wait in place of another.
int threads_aside() noexcept;

}  // namespace sycl_ext
