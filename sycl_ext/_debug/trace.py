# SPDX-License-Identifier: Apache-2.0
"""One log line per exchange, with ``SYCL_EXT_TRACE=1``.

The lines go to the logger ``"sycl_ext"`` at level INFO: function, route, bytes, copies and
microseconds. Without the variable nothing is measured or logged.
"""

import functools
import logging
import os
import threading
import time
from collections.abc import Callable
from math import prod
from typing import Final, ParamSpec, TypeVar

from sycl_ext import _native as _core
from sycl_ext._negotiation.sizes import Sized, memory_bytes

ENABLED: Final = os.environ.get("SYCL_EXT_TRACE", "") not in ("", "0")

logger = logging.getLogger("sycl_ext")
if ENABLED:
    logger.setLevel(logging.INFO)
    if not logging.getLogger().handlers and not logger.handlers:
        logger.addHandler(logging.StreamHandler())

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class Record:
    """The record of one exchange; the code that executes a plan fills it in."""

    __slots__ = ("copies", "nbytes", "route")

    def __init__(self) -> None:
        self.route, self.nbytes, self.copies = "", 0, 0


_running = threading.local()  # .records: the exchanges that this thread is in, outermost first


def note(route: str, array: Sized, copies: int) -> None:
    """Record a step of the running exchange; several steps add up.

    A copy has all elements; what is shared is the memory, which a broadcast array repeats.
    """
    records: list[Record] = getattr(_running, "records", [])
    if not records:
        return
    record = records[-1]
    record.route = f"{record.route}, then {route}" if record.route else route
    nbytes = prod(array.shape) * array.itemsize if copies else memory_bytes(array)
    record.nbytes = max(record.nbytes, nbytes)
    record.copies += copies


def _size_of(result: object) -> int:
    """Return the bytes of what a call returned without a step that was recorded."""
    if isinstance(result, _core.TensorBase):
        return memory_bytes(result)
    return getattr(result, "nbytes", 0)


def traced(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Log each call of a public function of the exchange; a no-op unless tracing is enabled.

    Its line includes nested calls, and requests of a consumer during the call.
    """
    if not ENABLED:
        return function

    @functools.wraps(function)
    def call(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        record, start = Record(), time.perf_counter()
        records = _running.__dict__.setdefault("records", [])
        depth, outcome = len(records), "refused"
        try:
            records.append(record)
            result = function(*args, **kwargs)
            outcome = record.route or "a view of the same memory"
            record.nbytes = record.nbytes or _size_of(result)
            return result
        finally:
            del records[depth:]
            if not records:
                logger.info(
                    "%s: %s, %d bytes, %d copies, %.1f us",
                    function.__name__,
                    outcome,
                    record.nbytes,
                    record.copies,
                    (time.perf_counter() - start) * 1e6,
                )

    return call
