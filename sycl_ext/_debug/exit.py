# SPDX-License-Identifier: Apache-2.0
"""What a process says at its exit that remembers where exports were asked for."""

from __future__ import annotations

import atexit

from sycl_ext._debug.trace import logger


def report_live_exports() -> None:
    """Say what consumers have not given back."""
    from sycl_ext._debug.introspection import live_exports

    alive = live_exports(origins=True)
    if alive:
        lines = "".join(f"\n  {origin}" for origin in alive)
        logger.warning("exports that are alive at the exit: %d%s", len(alive), lines)


def report_at_exit() -> None:
    """Report at the exit what is alive."""
    atexit.register(report_live_exports)
