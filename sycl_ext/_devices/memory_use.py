# SPDX-License-Identifier: Apache-2.0
"""Statistics, limits and the cache of the memory that this package allocates, by device."""

import operator
from collections.abc import Callable
from types import EllipsisType
from typing import Any, NamedTuple, SupportsIndex, TypeAlias, overload

from sycl_ext import _core
from sycl_ext._devices.device import Device, by_id
from sycl_ext._devices.placement import place
from sycl_ext._negotiation.arguments import is_int

#: What `release_cached` calls besides the core: modules of `ipc` add a function each at import.
released_with: list[Callable[[], object]] = []


class Statistics(NamedTuple):
    """Allocations of one kind of USM on one device.

    The numbers are read one after the other, and other threads may allocate meanwhile.
    """

    #: Bytes of the live blocks, including blocks that will be freed when work on them is done. A
    #: block may be larger than its tensor: the sizes of blocks are rounded up, for reuse.
    live_bytes: int
    #: The maximum of `live_bytes` so far.
    peak_bytes: int
    #: Number of live blocks.
    live_allocations: int
    #: Number of blocks allocated so far.
    total_allocations: int


# Not in the class: type checkers would take it for a field.
Statistics.__module__ = "sycl_ext.memory"


def statistics(device: Any = None, /) -> dict[tuple[Device | None, str], Statistics]:
    """Return the numbers of bytes and blocks that this package has allocated.

    Memory of other libraries, and memory that is kept for reuse (`cached`), is not counted.

    Parameters
    ----------
    device : optional
        A device in any form; None for all devices and the host.

    Returns
    -------
    dict
        Maps (device, kind of USM) to `Statistics`, for kinds that were ever allocated. ``(None,
        "system")`` is host memory. Private contexts and sub-devices have their own numbers.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> tensor = sx.empty(1 << 20, "uint8", usm_type="shared")
    >>> sx.memory.statistics()[sx.device(), "shared"].live_bytes >= 1 << 20
    True
    """
    wanted = None if device is None else place(device).device
    usage: dict[tuple[Device | None, str], Statistics] = {}
    for entry_id, usm_type, *numbers, _ in _core.memory_use():
        where = None if entry_id is None else by_id(entry_id)
        if wanted is None or where is wanted:
            usage[where, usm_type] = Statistics(*numbers)
    return usage


_Limit: TypeAlias = tuple[int | None, Callable[[int], object] | None]

#: The limit of each entry that has one, and the function that an allocation calls before it fails.
_limits: dict[int, _Limit] = {}
_NO_LIMIT: _Limit = None, None


def make_room(entry_id: int, nbytes: int) -> bool:
    """Call the function of `limit` for a failed allocation; return whether it freed memory."""
    _, handler = _limits.get(entry_id, _NO_LIMIT)
    return handler is not None and bool(handler(nbytes))


@overload
def limit(device: Any) -> _Limit: ...
@overload
def limit(
    device: Any, nbytes: SupportsIndex | None, on_pressure: Callable[[int], object] | None = None
) -> None: ...
def limit(
    device: Any,
    nbytes: SupportsIndex | EllipsisType | None = ...,
    on_pressure: Callable[[int], object] | None = None,
) -> _Limit | None:
    """Limit the allocations of this package on a device, and set a function that frees memory.

    With the device alone, it returns the limit and changes nothing.

    The limit applies to "device" and "shared" USM. For a root device it includes the USM of its
    sub-devices and private contexts. It applies to later allocations. Threads that allocate at the
    same time may exceed it together. An allocation without room waits for pending work on memory
    that was dropped, for five seconds at most in which nothing is freed, before it calls
    `on_pressure` or raises MemoryError.

    Parameters
    ----------
    device : Any
        In any form.
    nbytes : int or None, optional
        None removes the limit. If it is not given, nothing changes.
    on_pressure : callable, optional
        Called with the size in bytes of an allocation that would exceed the limit, or for which the
        device has no memory left. It frees memory, for example by dropping tensors or moving them
        to the host, and returns True: the allocation is tried again, and if there is still no room,
        the function is called again, as often as it returns True. If it returns a false value,
        because it has nothing to free, the allocation raises MemoryError. An exception in it
        propagates from the allocation. Each allocation calls it in its own thread, without a lock,
        so it may run in several threads at once; allocations in the function itself do not call it.
        None removes it.

    Returns
    -------
    tuple or None
        With the device alone, its `nbytes` and `on_pressure`, each of which may be None: a library
        that sets its own restores them. Otherwise None.

    Raises
    ------
    TypeError, ValueError
        If `nbytes` is not an integer or negative, or if `on_pressure` is not callable.

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
    >>> before = sx.memory.limit(sx.device())
    >>> sx.memory.limit(sx.device(), (1 << 20) + used, spill)
    >>> tensor = sx.empty(1_500_000, "uint8", usm_type="shared")
    >>> cache
    []
    >>> sx.memory.limit(sx.device(), *before)
    """
    entry = place(device).device._entry
    if nbytes is ... and on_pressure is None:
        return _limits.get(entry.id, _NO_LIMIT)
    if on_pressure is not None and not callable(on_pressure):
        raise TypeError(
            f"on_pressure is of type {type(on_pressure).__name__}; it must be a callable that "
            "takes a number of bytes, and returns whether to retry"
        )
    most = operator.index(nbytes) if is_int(nbytes) else -1
    if nbytes is not None and most < 0:
        error = ValueError if is_int(nbytes) else TypeError
        raise error(f"nbytes is {nbytes!r}; it must be an int of at least 0, or None for no limit")
    wanted = (None if nbytes is None else most), on_pressure
    if wanted != _NO_LIMIT:
        _limits[entry.id] = wanted  # set before the limit, for Ctrl-C between the two
    _core.limit_memory(entry, min(most, (1 << 63) - 1))
    if wanted == _NO_LIMIT:
        _limits.pop(entry.id, None)
    return None


def cached() -> dict[tuple[Device | None, str], int]:
    """Return the number of bytes that are kept for later allocations.

    At most the last 256 freed blocks of each kind of memory are kept. For each device these are
    blocks of "device" and of "shared" USM up to 64 KiB each and 2 MiB in all, and of "host" USM,
    which copies through the host use, up to 4 MiB each and 8 MiB in all. Blocks of host memory, the
    target of copies to the host, are up to 32 MiB each and 64 MiB in all. Blocks of a private
    context are not kept.

    Returns
    -------
    dict
        Maps (device, kind of USM) to bytes, without zeros. ``(None, "system")`` is host memory.

    See Also
    --------
    release_cached

    Examples
    --------
    >>> import sycl_ext as sx
    >>> block = sx.empty(16 << 10)
    >>> del block
    >>> sx.memory.cached()[sx.device(), "device"] >= 64 << 10
    True
    """
    return {
        (None if entry_id is None else by_id(entry_id), usm_type): nbytes
        for entry_id, usm_type, *_, nbytes in _core.memory_use()
        if nbytes
    }


def release_cached() -> None:
    """Return the memory that `memory.cached` reports to the SYCL runtime and the system.

    This also happens automatically when a device has no memory left. It frees memory that other
    processes had open (`ipc.handle`) and have since closed. The runtime may keep memory itself, as
    the memory pools of the Level Zero adapter do.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> sx.memory.release_cached()
    """
    for release in released_with:
        release()
    _core.release_cached_memory()
