# SPDX-License-Identifier: Apache-2.0
"""The live exports of this process, and with ``SYCL_EXT_TRACE=1`` where each comes from."""

from __future__ import annotations

import atexit
import itertools
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, overload

from sycl_ext import _core
from sycl_ext._negotiation.dlpack import DLDevice
from sycl_ext._negotiation.sizes import memory_bytes
from sycl_ext._protocols.trace import ENABLED, logger

if TYPE_CHECKING:
    from types import FrameType


@dataclass(frozen=True)
class ExportOrigin:
    """A live export, and its origin."""

    address: int  # of the first element; 0 when there are none
    nbytes: int  # of memory: a repeated element counts once
    shape: tuple[int, ...]
    dtype: str
    device: DLDevice
    stack: tuple[str, ...]  # "file:line in function", innermost first

    def __str__(self) -> str:
        what = f"{self.dtype}, shape {self.shape}, {self.nbytes} bytes on {self.device}"
        return f"{what}, from {', called by '.join(self.stack[:2])}"


# Not in the class: dataclass() looks for its annotations in the module that is named there.
ExportOrigin.__module__ = "sycl_ext.memory"


_PACKAGE = __file__.rpartition("_protocols")[0]  # frames in its files are left out of a stack
_MAX_FRAMES = 8


#: The traced exports by number, oldest first. The deleter of an export only marks it as ended: it
#: may run without the GIL, in a thread that other threads wait for. `remember` removes those that
#: have ended, so there are at most twice as many as live exports, and a hundred.
_exports: dict[int, tuple[_core.ExportMark, ExportOrigin]] = {}
_numbers = itertools.count()


def _forget_ended() -> None:
    for number, (mark, _) in list(_exports.items()):  # other threads add to it meanwhile
        if mark.has_ended:
            _exports.pop(number, None)


def remember(tensor: _core.TensorBase, device: DLDevice, mark: _core.ExportMark) -> None:
    """Record an export for `live_exports`, until it has ended."""
    if len(_exports) > 2 * _core.live_exports() + 100:
        _forget_ended()
    stack: list[str] = []
    frame: FrameType | None = sys._getframe()
    while frame is not None and len(stack) < _MAX_FRAMES:
        code = frame.f_code
        if not code.co_filename.startswith(_PACKAGE):
            stack.append(f"{code.co_filename}:{frame.f_lineno} in {code.co_name}")
        frame = frame.f_back
    address = tensor.ptr if tensor.size else 0
    what = address, memory_bytes(tensor), tensor.shape, tensor.dtype_name
    _exports[next(_numbers)] = mark, ExportOrigin(*what, device, tuple(stack))


@overload
def live_exports(*, origins: Literal[False] = False) -> int: ...
@overload
def live_exports(*, origins: Literal[True]) -> list[ExportOrigin]: ...
def live_exports(*, origins: bool = False) -> int | list[ExportOrigin]:
    """Return the number of live exports: managed tensors that their consumers have not released.

    Parameters
    ----------
    origins : bool
        If True, return the exports themselves, oldest first, with their origins (except for memory
        that C code has allocated through the exchange table). Origins are recorded only in a
        process that was started with ``SYCL_EXT_TRACE=1``; other processes have no overhead.

    Raises
    ------
    RuntimeError
        With ``origins=True``, if this process does not record them.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> before = sx.memory.live_exports()
    >>> capsule = sx.zeros(3).__dlpack__()
    >>> sx.memory.live_exports() - before
    1
    >>> del capsule
    >>> sx.memory.live_exports() - before
    0
    """
    if not origins:
        return _core.live_exports()
    if not ENABLED:
        raise RuntimeError(
            "origins=True requires SYCL_EXT_TRACE=1 in the environment when the process starts"
        )
    _forget_ended()
    return [origin for _, origin in list(_exports.values())]


def _report_live_exports() -> None:
    alive = live_exports(origins=True)
    if alive:
        lines = "".join(f"\n  {origin}" for origin in alive)
        logger.warning("exports that are alive at exit: %d%s", len(alive), lines)


if ENABLED:
    atexit.register(_report_live_exports)
