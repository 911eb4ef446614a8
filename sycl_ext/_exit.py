# SPDX-License-Identifier: Apache-2.0
"""Floor 3. What is left to do when the interpreter goes."""

from __future__ import annotations

import atexit
import time

from sycl_ext import _core
from sycl_ext._introspection import live_exports
from sycl_ext._trace import ENABLED, logger


@atexit.register
def let_devices_finish() -> None:
    """Wait for work whose wait was given up (Ctrl-C): the SYCL runtime must not go before it."""
    while _core.threads_aside():
        time.sleep(0.01)


def report_live_exports() -> None:
    """Say what consumers have not given back."""
    alive = live_exports(origins=True)
    if alive:
        lines = "".join(f"\n  {origin}" for origin in alive)
        logger.warning("exports that are alive at the exit: %d%s", len(alive), lines)


if ENABLED:
    atexit.register(report_live_exports)
