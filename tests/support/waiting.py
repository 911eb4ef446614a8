# SPDX-License-Identifier: Apache-2.0
"""Waiting in a test for what another thread or process does, however slow the machine is."""

from __future__ import annotations

import gc
import itertools
import time
from collections.abc import Callable

#: Seconds after which it is not going to happen; less than the time limit of a test.
PATIENCE = 60


def eventually(holds: Callable[[], object]) -> bool:
    """Return whether `holds()` becomes true; the garbage collector runs meanwhile."""
    end = time.monotonic() + PATIENCE
    for attempt in itertools.count():
        if holds():
            return True
        if time.monotonic() > end:
            return False
        if attempt % 10 == 0:
            gc.collect()
        time.sleep(0.01)
    raise AssertionError("unreachable")
