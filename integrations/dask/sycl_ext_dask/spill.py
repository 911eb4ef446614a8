# SPDX-License-Identifier: Apache-2.0
"""The data of a worker: on the device up to a limit, then on the host, then on the disk.

Dask spills by the memory of the process, which does not include device memory.  The tiers here are
those of zict (the least recently used data is moved first) and the `SpillBuffer` of distributed.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Iterator, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import zict
from dask.sizeof import sizeof
from dask.utils import parse_bytes
from distributed.protocol import deserialize, serialize
from distributed.spill import SpillBuffer

import sycl_ext as sx

__all__ = ["DeviceSpillBuffer", "make_room"]

#: An allocation that fails makes room in the thread of its task, while a worker stores and fetches
#: in its own.  Without a lock around zict's lock, a thread that waits for another to move an array
#: keeps it from doing so.  The workers of a process share the lock, because each allocation makes
#: room in all of them.
_lock = threading.RLock()
#: The data of each worker of this process, by its address.
_buffers: weakref.WeakValueDictionary[int, DeviceSpillBuffer] = weakref.WeakValueDictionary()


#: The bytes that `make_room` has moved so far, under the lock.
_moved = 0
#: The `on_pressure` of the default device that `make_room` has replaced; () while it has not.
_replaced: tuple[()] | tuple[Callable[[int], object] | None] = ()


def make_room(nbytes: int) -> bool:
    """Move arrays of this process's workers to the host; return whether there were any.

    It is the `on_pressure` of `sycl_ext.memory.limit` for the default device. If there is nothing
    to move, and no other thread has moved arrays while this one waited for the lock, it calls the
    function that was set before.
    """
    global _moved
    moved_before = _moved
    with _lock:
        freed = 0
        for buffer in list(_buffers.values()):
            freed += buffer.make_room(nbytes - freed)
        _moved += freed
        is_room_made = _moved > moved_before
    if is_room_made or not _replaced or _replaced[0] is None:
        return is_room_made
    return bool(_replaced[0](nbytes))


def _set_on_pressure() -> None:
    """Have allocations call `make_room`; the limit of the program stays."""
    global _replaced
    nbytes, on_pressure = sx.memory.limit(sx.device())
    if on_pressure is not make_room:
        _replaced = (on_pressure,)
        sx.memory.limit(sx.device(), nbytes, make_room)


def _restore_on_pressure() -> None:
    """Undo `_set_on_pressure` with the last buffer of the process, unless it was set again."""
    global _replaced
    if not _replaced or list(_buffers.values()):
        return
    nbytes, on_pressure = sx.memory.limit(sx.device())
    if on_pressure is make_room:
        sx.memory.limit(sx.device(), nbytes, *_replaced)
    _replaced = ()


class DeviceSpillBuffer(MutableMapping):  # type: ignore[type-arg]
    """The data of a worker, for ``LocalCluster(data=(DeviceSpillBuffer, {...}))``.

    Tensors and dpnp arrays in "device" and "shared" USM count; all other data is on the host from
    the beginning, as without this class.  Arrays that a running task uses are not moved.

    An allocation that fails on the default device moves arrays, and is tried again; after that it
    calls the `on_pressure` of `sycl_ext.memory.limit` that was set before.  Its limit stays, and
    the function is set again when the process has no such mapping any more.

    Parameters
    ----------
    worker_local_directory : str
        Given by the worker; the disk is below it.
    device_memory_limit : int or str
        Bytes of stored arrays that stay on the device, ``"4 GiB"`` for instance.
    host_memory_limit : int or str, optional
        Bytes that stay on the host.  Without it, the worker moves them to the disk when its
        process has more than ``distributed.worker.memory.spill`` of its ``memory_limit``.
    """

    def __init__(
        self,
        worker_local_directory: str,
        device_memory_limit: int | str,
        host_memory_limit: int | str = sys.maxsize,
    ) -> None:
        folder = Path(worker_local_directory, "storage")
        self.host = SpillBuffer(str(folder), target=parse_bytes(host_memory_limit))
        # An array that is still in use when it is requested again is not copied a second time.
        below = zict.Cache(zict.Func(_to_host, _to_device, self.host), zict.WeakValueMapping())
        limit = parse_bytes(device_memory_limit)
        self.device = zict.Buffer({}, below, limit, _bytes_on_device)
        _buffers[id(self)] = self
        weakref.finalize(self, _restore_on_pressure).atexit = False
        _set_on_pressure()

    def make_room(self, nbytes: int) -> int:
        """Move arrays of so many bytes to the host, if there are as many; return how many."""
        freed = 0
        with _lock:
            while freed < nbytes and self.device.fast:
                key, _, size = self.device.fast.evict()
                if key is None:  # it is being moved, in this thread, and allocates for that
                    break
                freed += int(size)
        return freed

    @property
    def fast(self) -> Any:
        """The data that the worker may move to the disk if its process uses too much memory."""
        return self.host.fast or self.device.fast

    def evict(self) -> int:
        """Move the oldest data of the host to the disk, else that of the device to the host."""
        with _lock:
            if self.host.fast:
                return int(self.host.evict())
            return int(self.device.fast.evict()[2])

    @property
    def spilled_total(self) -> Any:
        """The bytes on the disk, for the dashboard."""
        return self.host.spilled_total

    def __getitem__(self, key: Any) -> Any:
        with _lock:
            return self.device[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        with _lock:
            if _is_on_device(value):
                self.device[key] = value
                return
            # Not through the tier of the device: it would keep, and store again with each later
            # key, what the host refuses, such as an object that cannot be pickled.
            self.device.fast.pop(key, None)
            self.device.slow[key] = value

    def __delitem__(self, key: Any) -> None:
        with _lock:
            del self.device[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.device)

    def __len__(self) -> int:
        return len(self.device)

    def __contains__(self, key: object) -> bool:
        return key in self.device  # without reading it


@dataclass
class _Spilled:
    """An array as distributed would send it, in host memory."""

    header: dict[str, Any]
    frames: list[Any]

    def __sizeof__(self) -> int:
        return sum(frame.nbytes for frame in self.frames)


def _is_on_device(value: Any) -> bool:
    # Of the class: to read it of a tensor gives its queue away. A HostView has none.
    shows_usm = hasattr(type(value), "__sycl_usm_array_interface__")
    library = type(value).__module__.partition(".")[0]
    known = shows_usm and library in ("sycl_ext", "dpnp")
    return known and value.usm_type in ("device", "shared")


def _bytes_on_device(_key: Any, value: Any) -> int:
    """Return the bytes that an object takes on the device; no limit has room for others."""
    return sizeof(value) if _is_on_device(value) else sys.maxsize


def _to_host(value: Any) -> Any:
    if not _is_on_device(value):
        return value
    header, frames = serialize(value, serializers=["dask"], on_error="raise")
    # The frames may be views of the memory, which is to be freed.
    return _Spilled(header, [np.array(memoryview(f).cast("B"), np.uint8) for f in frames])


def _to_device(value: Any) -> Any:
    return deserialize(value.header, value.frames) if isinstance(value, _Spilled) else value
