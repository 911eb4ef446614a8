# SPDX-License-Identifier: Apache-2.0
"""What a process does that remembers where exports were asked for."""

from __future__ import annotations

import atexit
import os.path

from sycl_ext import _core
from sycl_ext._debug.trace import logger


def report_live_exports() -> None:
    """Say what consumers have not given back."""
    from sycl_ext._debug.introspection import live_exports

    alive = live_exports(origins=True)
    if alive:
        lines = "".join(f"\n  {origin}" for origin in alive)
        logger.warning("exports that are alive at the exit: %d%s", len(alive), lines)


def report_at_exit() -> None:
    """Remember from now on where exports are asked for, and report at the exit."""
    _core.trace_origins(os.path.dirname(os.path.dirname(__file__)))
    atexit.register(report_live_exports)
