# SPDX-License-Identifier: Apache-2.0
"""How long Hypothesis looks: the same few cases every day, new ones for as long as one likes.

``make test`` runs the same seeded cases each time.  ``make fuzz-python`` sets `SYCL_EXT_FUZZ` and
starts these tests with one seed after another (``tests/fuzz/python.py``).
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, settings

import sycl_ext as sx
from sycl_ext import _core
from waiting import eventually

FUZZING = os.environ.get("SYCL_EXT_FUZZ") == "1"


def cases(everyday: int, **more: Any) -> settings:
    """Settings for a test with so many cases every day, and five times as many for each seed."""
    return settings(
        deadline=None,
        database=None,
        derandomize=not FUZZING,
        max_examples=everyday * 5 if FUZZING else everyday,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        # Daily findings were found before, so a fast message matters more.
        phases=[Phase.explicit, Phase.generate, *([Phase.shrink] if FUZZING else [])],
        **more,
    )


def alive() -> tuple[int, int]:
    """Managed tensors and blocks that are alive when everything that can go has gone."""
    gc.collect()
    eventually(
        lambda: not _core._test.deferred_frees()
    )  # memory that is freed when the work on it is done
    return sx.memory.live_exports(), _core._test.live_allocations()


def attempt(call: Callable[[], Any], *allowed: type[Exception]) -> Any:
    """The result of a call, or None when it raises one of these; the message has to be ours."""
    try:
        return call()
    except allowed as error:
        text = str(error)
    assert "pybind11" not in text
    assert "incompatible function arguments" not in text
    return None
