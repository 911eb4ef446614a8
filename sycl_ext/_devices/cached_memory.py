# SPDX-License-Identifier: Apache-2.0
"""Memory that is kept for the next allocation: how much, and the way to give it back."""

from __future__ import annotations

from collections.abc import Callable

from sycl_ext import _core
from sycl_ext._devices.device import Device, by_id

__all__ = ["cached", "release_cached", "released_with"]

#: What else is called to give memory back.
released_with: list[Callable[[], object]] = []


def cached() -> dict[tuple[Device | None, str], int]:
    """Return how many bytes are kept for the next allocations: freed memory, still allocated.

    Blocks of up to 64 KiB are kept, at most 2.75 MiB of each kind of USM of a device in its default
    context; of a private context nothing is kept.  Larger ones are kept of host USM (up to 4 MiB
    each, 8 MiB for a device), since copies through the host need it, and of host memory (up to 32
    MiB each, 64 MiB in all), where copies to the host end.

    Returns
    -------
    dict
        (device, kind of USM) to bytes, where there are any.  ``(None, "system")`` is host memory.

    See Also
    --------
    release_cached

    Examples
    --------
    >>> import sycl_ext as sx
    >>> sx.memory.release_cached()
    >>> sx.memory.cached()
    {}
    >>> block = sx.empty(16 << 10)
    >>> del block
    >>> sx.memory.cached()[sx.device(), "device"] >= 64 << 10
    True
    """
    return {
        (None if entry_id is None else by_id(entry_id), usm_type): nbytes
        for entry_id, usm_type, nbytes in _core.cached_memory()
    }


def release_cached() -> None:
    """Give the memory that `memory.cached` tells of back to the SYCL runtime and the system.

    This happens by itself when a device has no memory left.  So is memory that other processes had
    open, and have closed since (`ipc.handle`).  (The runtime may keep memory of its
    own, as the memory pools of the Level Zero adapter do.)

    Examples
    --------
    >>> import sycl_ext as sx
    >>> sx.memory.release_cached()
    """
    for release in released_with:
        release()
    _core.release_cached_memory()
