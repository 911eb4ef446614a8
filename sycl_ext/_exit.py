# SPDX-License-Identifier: Apache-2.0
"""What is left to do when the interpreter goes."""

from __future__ import annotations

import atexit

from sycl_ext._introspection import live_exports
from sycl_ext._trace import ENABLED, logger


def report_live_exports() -> None:
    """Say what consumers have not given back."""
    alive = live_exports(origins=True)
    if alive:
        lines = "".join(f"\n  {origin}" for origin in alive)
        logger.warning("exports that are alive at the exit: %d%s", len(alive), lines)


if ENABLED:
    atexit.register(report_live_exports)
