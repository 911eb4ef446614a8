# SPDX-License-Identifier: Apache-2.0
"""How much memory this package has allocated on each device, and a limit to it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NamedTuple, SupportsIndex

from sycl_ext import _core
from sycl_ext._devices.device import Device, by_id
from sycl_ext._devices.placement import place

__all__ = ["Statistics", "limit", "statistics"]


class Statistics(NamedTuple):
    """What was allocated of one kind of USM on one device.

    The numbers are read one after the other, while other threads allocate.
    """

    #: Bytes of the blocks that are allocated now, those included whose free waits for work.
    live_bytes: int
    #: The most that `live_bytes` has ever been.
    peak_bytes: int
    #: Blocks that are allocated now.
    live_allocations: int
    #: Blocks that were ever allocated.
    total_allocations: int


def statistics(device: Any = None, /) -> dict[tuple[Device | None, str], Statistics]:
    """Return what this package has allocated: bytes and blocks, now, at most and in all.

    Memory of other libraries is not counted, nor memory that is kept for reuse (`cached`).

    Parameters
    ----------
    device : optional
        In any form; None for all devices and the host.

    Returns
    -------
    dict
        (device, kind of USM) to `Statistics`, where there ever was an allocation.
        ``(None, "system")`` is host memory.  A private context or a part of a device has numbers
        of its own.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> tensor = sx.empty(1 << 20, "uint8", usm_type="shared")
    >>> sx.memory.statistics()[sx.device(), "shared"].live_bytes >= 1 << 20
    True
    """
    wanted = None if device is None else place(device).device
    found: dict[tuple[Device | None, str], Statistics] = {}
    for entry_id, usm_type, *numbers in _core.memory_use():
        where = None if entry_id is None else by_id(entry_id)
        if wanted is None or where is wanted:
            found[where, usm_type] = Statistics(*numbers)
    return found


#: Whom an allocation asks on the device of an entry, before it fails.
_on_pressure: dict[int, Callable[[int], object]] = {}


def _ask(entry_id: int, nbytes: int) -> bool:
    handler = _on_pressure.get(entry_id)
    return handler is not None and bool(handler(nbytes))


_core.set_pressure_handler(_ask)


def limit(
    device: Any,
    nbytes: SupportsIndex | None,
    on_pressure: Callable[[int], object] | None = None,
) -> None:
    """Limit what this package allocates on a device, and name who makes room before a MemoryError.

    The limit is on "device" and "shared" USM; for a root device also on that of its parts and of
    its private contexts.  It holds for allocations from now on.  Threads that allocate at the same
    time may pass it together.

    Parameters
    ----------
    device : Any
        In any form.
    nbytes : int or None
        None removes the limit.
    on_pressure : callable, optional
        Gets the bytes of an allocation that would pass the limit, or for which the device has no
        memory left.  It makes room, by dropping tensors or moving them to the host, and returns
        True; then the allocation is tried again, until it succeeds.  Where the function returns
        something false, the allocation raises MemoryError; what it raises is raised there.  It
        runs in the thread that allocates, where no lock is held; its own allocations do not call
        it.  None removes it.

    Raises
    ------
    TypeError, ValueError
        When `nbytes` is no integer or negative, or `on_pressure` cannot be called.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> cache = [sx.empty(1 << 20, "uint8", usm_type="shared")]
    >>> def spill(nbytes):
    ...     dropped = bool(cache)
    ...     cache.clear()
    ...     return dropped
    >>> found = sx.memory.statistics()
    >>> limited = [(sx.device(), kind) for kind in ("device", "shared")]
    >>> used = sum(found[key].live_bytes for key in limited if key in found)
    >>> sx.memory.limit(sx.device(), (1 << 20) + used, spill)
    >>> tensor = sx.empty(2 << 20, "uint8", usm_type="shared")
    >>> cache
    []
    >>> sx.memory.limit(sx.device(), None)
    """
    entry = place(device).device._entry
    if on_pressure is not None and not callable(on_pressure):
        raise TypeError(
            f"on_pressure is of type {type(on_pressure).__name__}; it must be a function of a "
            "number of bytes that returns whether to try again"
        )
    most = -1 if nbytes is None else operator.index(nbytes)
    if nbytes is not None and most < 0:
        raise ValueError(f"nbytes is {most}; it must be at least 0, or None for no limit")
    if on_pressure is None:
        _on_pressure.pop(entry.id, None)
    else:
        _on_pressure[entry.id] = on_pressure
    _core.limit_memory(entry, min(most, (1 << 63) - 1))
