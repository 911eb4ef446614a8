# SPDX-License-Identifier: Apache-2.0
"""The report at exit of a process that records the origins of exports."""

from __future__ import annotations

import atexit

from sycl_ext._debug.trace import logger


def report_live_exports() -> None:
    """Report the exports that consumers have not released."""
    from sycl_ext._debug.introspection import live_exports

    alive = live_exports(origins=True)
    if alive:
        lines = "".join(f"\n  {origin}" for origin in alive)
        logger.warning("exports that are alive at the exit: %d%s", len(alive), lines)


def report_at_exit() -> None:
    """Report live exports at exit."""
    atexit.register(report_live_exports)
