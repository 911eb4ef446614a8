# SPDX-License-Identifier: Apache-2.0
"""Waiting in a test for what another thread or process does, however slow the machine is."""

from __future__ import annotations

import gc
import itertools
import threading
import time
from collections.abc import Callable

from sycl_ext import _core

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


def all_freed() -> bool:
    """Return whether the memory of dropped tensors is freed, which waits for the work on it."""
    gc.collect()
    return eventually(lambda: not _core._test.deferred_frees())


def blocked(call: Callable[[], object]) -> tuple[threading.Thread, list[object]]:
    """Return a thread that waits in `call`, and where its result will be."""
    result: list[object] = []
    thread = threading.Thread(target=lambda: result.append(call()), daemon=True)
    thread.start()
    thread.join(0.05)
    assert thread.is_alive(), result
    return thread, result
