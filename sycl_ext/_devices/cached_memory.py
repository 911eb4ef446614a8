# SPDX-License-Identifier: Apache-2.0
"""Memory that is kept for later allocations: its size, and its release."""

from collections.abc import Callable

from sycl_ext import _core
from sycl_ext._devices.device import Device, by_id

#: Other functions that release memory.
released_with: list[Callable[[], object]] = []


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
