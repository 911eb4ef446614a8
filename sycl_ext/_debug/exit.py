# SPDX-License-Identifier: Apache-2.0
"""What is left to do when the interpreter goes."""

from __future__ import annotations

import atexit

from sycl_ext._debug.introspection import live_exports
from sycl_ext._debug.trace import ENABLED, logger


def report_live_exports() -> None:
    """Say what consumers have not given back."""
    alive = live_exports(origins=True)
    if alive:
        lines = "".join(f"\n  {origin}" for origin in alive)
        logger.warning("exports that are alive at the exit: %d%s", len(alive), lines)


def report_at_exit() -> None:
    """Do so at the exit of a process that remembers where exports were asked for."""
    if ENABLED:
        atexit.register(report_live_exports)
