// SPDX-License-Identifier: Apache-2.0
// Works around a bug of the v1 adapter of Level Zero: it reports a failed command as submitted, for
// ever, so a poll of its event never ends.  A question to the queue raises the failure.
//
// Report: none so far; urEventGetInfo in
// https://github.com/oneapi-src/unified-runtime/blob/main/source/adapters/level_zero/event.cpp
// Repaired in: no release so far (2026.2.0 has it).
// Then: delete this file, and the two lines in commands.cpp that call it.
#pragma once

#include "runtime/sycl/handles.hpp"
#include "runtime/sycl/work.hpp"

namespace sycl_ext::bug {

// Whether a command is over that its event reports as pending.  The answer of an in-order queue is
// about its last command.  `ask`: asks a queue, under its lock.
template <class Command, class Ask>
Work despite_event(const Command& command, How how, const Ask& ask) {
  const auto& queue = command.queue;
  if (!queue || !queue->in_order || queue->answers_at_once) return Work::pending;
  if (how == How::ask) return Work::unknown;
  try {
    return ask(*queue);
  } catch (const sycl::exception& error) {
    if (!is_device_lost(error, queue->queue.get_backend())) throw;
    return Work::none;
  }
}

// Raises the failure of a command of an out-of-order queue, so that a wait for the command ends.
// The answer itself is not used: such a queue counts as empty while libsycl still holds a command
// back.
template <class Command, class Ask>
void raise_failure(const Command& command, const Ask& ask) {
  const auto& queue = command.queue ? command.queue : command.noted_on;
  if (queue && !queue->in_order && !queue->answers_at_once) (void)ask(*queue);
}

}  // namespace sycl_ext::bug
