# SPDX-License-Identifier: Apache-2.0
"""One log line per exchange: function, route, bytes, copies and microseconds.

The lines go to the logger ``"sycl_ext"``, at level DEBUG. Whether there are any is decided once,
when the package is first used: they are logged if that logger is then enabled for DEBUG, as by
``logging.basicConfig(level=logging.DEBUG)``. Otherwise nothing is measured, and an exchange is as
fast as if there were no log. ``SYCL_EXT_TRACE=1`` logs them in any case, at level INFO.
"""

import functools
import logging
import os
import threading
import time
from collections.abc import Callable
from math import prod
from typing import Any, Final, TypeVar, cast

from sycl_ext import _core
from sycl_ext._negotiation.sizes import Sized, memory_bytes

#: Whether the variable is set; then the origin of each export is remembered as well.
ENABLED: Final = os.environ.get("SYCL_EXT_TRACE", "") not in ("", "0")
_LEVEL: Final = logging.INFO if ENABLED else logging.DEBUG

logger = logging.getLogger("sycl_ext")
if ENABLED:
    logger.setLevel(_LEVEL)
    if not logging.getLogger().handlers and not logger.handlers:
        logger.addHandler(logging.StreamHandler())
#: Whether exchanges are logged in this process.
LOGGED: Final = logger.isEnabledFor(_LEVEL)

#: The type of a function; `traced` keeps it, so that editors complete the arguments.
Function = TypeVar("Function", bound=Callable[..., Any])


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


def traced(function: Function) -> Function:
    """Log each call of a public function of the exchange; a no-op unless exchanges are logged.

    Its line includes nested calls, and requests of a consumer during the call.
    """
    if not LOGGED:
        return function

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
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
                logger.log(
                    _LEVEL,
                    "%s: %s, %d bytes, %d copies, %.1f us",
                    function.__name__,
                    outcome,
                    record.nbytes,
                    record.copies,
                    (time.perf_counter() - start) * 1e6,
                )

    return cast("Function", call)
