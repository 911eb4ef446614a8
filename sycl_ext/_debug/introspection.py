# SPDX-License-Identifier: Apache-2.0
"""`dlpack.capsule_from_pointer`, and `memory.live_exports`."""

from __future__ import annotations

import atexit
import itertools
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, overload

from sycl_ext import _core
from sycl_ext._debug.trace import ENABLED, logger
from sycl_ext._negotiation.arguments import is_int
from sycl_ext._negotiation.dlpack import DLDevice
from sycl_ext._negotiation.sizes import memory_bytes

if TYPE_CHECKING:
    from types import FrameType

    from typing_extensions import CapsuleType

#: The supported version of DLPack: (major, minor).
VERSION = _core.DLPACK_VERSION


def capsule_from_pointer(address: int, *, versioned: bool = True) -> CapsuleType:
    """Return a DLPack capsule over a managed tensor that C code made.

    Parameters
    ----------
    address : int
        Address of a ``DLManagedTensorVersioned`` or of a ``DLManagedTensor``, as an int from ctypes
        or cffi. The capsule takes ownership: the deleter runs once, when the memory is released or
        when the unused capsule is dropped.
    versioned : bool
        Which of the two structs it is.

    Returns
    -------
    capsule
        For `from_dlpack` and other consumers that take raw capsules.

    Raises
    ------
    ValueError
        If the memory at the address is not readable. Its contents are not verified.
    TypeError
        If the address is not an int, or `versioned` is not a bool.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> sx.dlpack.capsule_from_pointer(0)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: there is no managed tensor at address 0: nothing readable is there; pass the...
    """
    if not is_int(address):
        raise TypeError(
            f"address is of type {type(address).__name__}; it must be an int, the address of a "
            "DLManagedTensorVersioned or DLManagedTensor"
        )
    if not isinstance(versioned, bool):
        raise TypeError(
            f"versioned is of type {type(versioned).__name__}; it must be True, for a "
            "DLManagedTensorVersioned, or False, for a DLManagedTensor"
        )
    if not 0 <= address < 1 << 64:
        raise ValueError(
            f"there is no managed tensor at address {address}: nothing readable is there; pass the "
            "address of a live DLManagedTensor or DLManagedTensorVersioned"
        )
    return _core.capsule_from_pointer(address, versioned=versioned)


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


_PACKAGE = __file__.rpartition("_debug")[0]  # frames in its files are left out of a stack
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
