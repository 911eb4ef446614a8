# SPDX-License-Identifier: Apache-2.0
"""How ranks meet: by MPI, torch.distributed, a store, or pipes of `multiprocessing`.

All that is needed of a group are its `rank`, its `size`, and `all_gather` of bytes.
"""

from __future__ import annotations

import operator
import pickle
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from threading import BrokenBarrierError
from typing import Any, Protocol

import numpy as np

#: Seconds that a rank waits for the others, if the user names no other time.
TIMEOUT = 300.0


class RankGroup(Protocol):
    """What `symmetric` uses of a group."""

    @property
    def rank(self) -> int:
        """Number of this process in the group."""

    @property
    def size(self) -> int:
        """Number of processes."""

    def all_gather(self, data: bytes, /) -> list[bytes]:
        """Return the bytes of all ranks, by rank; all ranks call it together."""


# ---- pipes ---------------------------------------------------------------------------------------


class PipeGroup:
    """One rank of a group of processes that `multiprocessing` starts; made by `groups`.

    Rank 0 has a pipe to each other rank, and the end of a pipe tells that a rank has ended.
    """

    def __init__(self, rank: int, size: int, pipes: Sequence[Connection], timeout: float) -> None:
        self.rank, self.size = rank, size
        self._pipes, self._timeout = tuple(pipes), timeout
        self._broken = False

    def all_gather(self, data: bytes, /) -> list[bytes]:
        """Return the bytes of all ranks, by rank. All ranks must call it together.

        Raises
        ------
        BrokenBarrierError
            If another rank has ended; and after any error, because the ranks may be at different
            places.
        TimeoutError
            If another rank does not call it.
        TypeError
            If `data` is not a buffer of bytes.

        Examples
        --------
        >>> from sycl_ext_symmetric import groups
        >>> (alone,) = groups(1)
        >>> alone.all_gather(b"data")
        [b'data']
        """
        try:
            content = bytes(memoryview(data))  # bytes(5) would be five zeros
        except TypeError:
            raise TypeError(f"data is of type {type(data).__name__}; it must be bytes") from None
        if self._broken:
            raise BrokenBarrierError(
                f"an earlier call of rank {self.rank} of {self.size} ended with an error, so the "
                "ranks may be at different places; start them again"
            )
        self._broken = True  # also if Ctrl-C ends the call
        gathered = self._follow(content) if self.rank else self._lead(content)
        self._broken = False
        return gathered

    def _lead(self, data: bytes) -> list[bytes]:
        """Receive the bytes of each rank, and send all to each; or the reason against it."""
        text, gathered = f"rank 0 of {self.size} was interrupted", [data, *[b""] * (self.size - 1)]
        try:
            self._receive(gathered)
            text = ""
        except (BrokenBarrierError, TimeoutError) as error:
            text = str(error)
            raise
        finally:
            message = pickle.dumps((text, gathered))
            for pipe in self._pipes:
                with suppress(OSError):  # it has ended, which the next call notices
                    pipe.send_bytes(message)
        return gathered

    def _receive(self, gathered: list[bytes]) -> None:
        missing: dict[Any, int] = {pipe: rank for rank, pipe in enumerate(self._pipes, 1)}
        end = time.monotonic() + self._timeout
        while missing:
            ready = wait(list(missing), max(0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(
                    f"{' and '.join(f'rank {rank}' for rank in missing.values())} of {self.size} "
                    f"did not come within {self._timeout:g} s; find out what it does, or pass a "
                    "longer timeout"
                )
            for pipe in ready:
                rank = missing.pop(pipe)
                try:
                    gathered[rank] = pipe.recv_bytes()  # type: ignore[union-attr]
                except (EOFError, OSError):
                    raise self._ended(rank) from None

    def _follow(self, data: bytes) -> list[bytes]:
        (pipe,) = self._pipes
        try:
            pipe.send_bytes(data)
            if not pipe.poll(self._timeout + 1):  # rank 0 names the missing rank before that
                raise TimeoutError(
                    f"rank 0 of {self.size} did not come within {self._timeout:g} s; find out what "
                    "it does, or pass a longer timeout"
                )
            text, gathered = pickle.loads(pipe.recv_bytes())
        except TimeoutError:
            raise
        except (EOFError, OSError):
            raise self._ended(0) from None
        if text:
            raise BrokenBarrierError(f"{text} (as rank 0 says)")
        result: list[bytes] = gathered
        return result

    def _ended(self, rank: int) -> BrokenBarrierError:
        return BrokenBarrierError(
            f"rank {rank} of {self.size} has ended, and will not come; end the other ranks, or "
            "start them again without it"
        )

    def __repr__(self) -> str:
        return f"PipeGroup(rank={self.rank}, size={self.size})"


def groups(size: int, *, timeout: float = TIMEOUT) -> tuple[PipeGroup, ...]:
    """Return the ranks of a group for processes that `multiprocessing` starts, one for each.

    Each is an argument of one process. Start the processes by ``"spawn"``, and drop the ranks that
    were sent: as long as this process has them, too, the others are not told of a rank's end, and
    wait until the timeout.

    Parameters
    ----------
    size : int
        The number of ranks, at least 1.
    timeout : float
        Seconds that a rank waits for the others in each call.

    Raises
    ------
    ValueError
        If `size` or `timeout` is not a positive number.

    Examples
    --------
    >>> from sycl_ext_symmetric import groups
    >>> groups(2)
    (PipeGroup(rank=0, size=2), PipeGroup(rank=1, size=2))
    """
    try:
        count = operator.index(size)
    except TypeError:
        count = 0
    if isinstance(size, bool) or count < 1:
        raise ValueError(f"size is {size!r}; a group has at least one rank")
    seconds = require_timeout(timeout)
    pipes = [Pipe() for _ in range(count - 1)]
    return (
        PipeGroup(0, count, [mine for mine, _ in pipes], seconds),
        *(PipeGroup(rank, count, [theirs], seconds) for rank, (_, theirs) in enumerate(pipes, 1)),
    )


# ---- a store -------------------------------------------------------------------------------------


class StoreGroup:
    """One rank of a group that meets by a store, such as torch's ``TCPStore`` or ``FileStore``.

    Parameters
    ----------
    store
        An object with ``set(key, bytes)``, ``wait(keys, timedelta)`` and ``get(key)``, which
        raises an error of its own if a rank does not come. Its keys begin with the name of this
        package. Make one object for each store and rank.
    rank, size : int
        Number of this process, and number of processes.
    timeout : float
        Seconds that a rank waits for the others in each call.
    """

    def __init__(self, store: Any, rank: int, size: int, *, timeout: float = TIMEOUT) -> None:
        self._store = store
        self.rank, self.size = rank, size
        self._timeout = timedelta(seconds=require_timeout(timeout))
        self._count = 0

    def all_gather(self, data: bytes, /) -> list[bytes]:
        """Return the bytes of all ranks, by rank. All ranks must call it together."""
        keys = [self._key(rank, self._count) for rank in range(self.size)]
        self._store.set(keys[self.rank], data)
        self._store.wait(keys, self._timeout)
        gathered = [bytes(self._store.get(key)) for key in keys]
        # All have come here, and so all have read what this rank set the time before.
        if self._count and hasattr(self._store, "delete_key"):
            self._store.delete_key(self._key(self.rank, self._count - 1))
        self._count += 1
        return gathered

    def _key(self, rank: int, count: int) -> str:
        return f"sycl_ext_symmetric/{count}/{rank}"


def require_timeout(timeout: Any) -> float:
    """Return seconds; ValueError unless they are a positive number."""
    try:
        if isinstance(timeout, bool) or not 0 < float(timeout) < float("inf"):
            raise ValueError
        return float(timeout)
    except (TypeError, ValueError):
        raise ValueError(
            f"timeout is {timeout!r}; it must be a positive number of seconds"
        ) from None


# ---- groups of others ----------------------------------------------------------------------------

#: Calls of MPI that are not complete: the communicator, and the buffers and requests.  After a
#: timeout or Ctrl-C, MPI may still write there, and the ranks may be at different places. Later
#: calls with that communicator are refused, so each has at most one entry.
_pending: list[tuple[Any, list[Any]]] = []


class _MpiGroup:
    """The ranks of a communicator of mpi4py."""

    def __init__(self, comm: Any, timeout: float) -> None:
        if comm.Is_inter():
            raise TypeError("group is an intercommunicator; pass the result of its Merge()")
        self._comm, self._timeout = comm, timeout
        self.rank, self.size = int(comm.Get_rank()), int(comm.Get_size())

    def all_gather(self, data: bytes, /) -> list[bytes]:
        """Gather without blocking, because MPI waits for ever for a rank that has ended."""
        if any(comm == self._comm for comm, _ in _pending):
            raise BrokenBarrierError(
                "a call with this communicator ended with an error, so its ranks may be at "
                "different places; pass one that Dup() made before, or start the ranks again"
            )
        call: tuple[Any, list[Any]] = (self._comm, [])
        _pending.append(call)
        lengths = np.empty((self.size, 1), np.int64)
        self._finish(call[1], np.array([len(data)], np.int64), lengths)
        rows = np.zeros((self.size, int(np.max(lengths))), np.uint8)
        mine = np.zeros(rows.shape[1], np.uint8)
        mine[: len(data)] = np.frombuffer(data, np.uint8)
        self._finish(call[1], mine, rows)
        _pending[:] = [other for other in _pending if other is not call]
        return [row[:length].tobytes() for row, (length,) in zip(rows, lengths, strict=True)]

    def _finish(self, kept: list[Any], mine: Any, all_: Any) -> None:
        kept += [mine, all_]
        kept.extend(map(self._comm.Iallgather, [mine], [all_]))  # no Ctrl-C in between
        end = time.monotonic() + self._timeout
        while not kept[-1].Test():
            if time.monotonic() >= end:
                raise TimeoutError(
                    f"a rank did not come to Iallgather of MPI within {self._timeout:g} s (this is "
                    f"rank {self.rank} of {self.size}); each rank must make the same calls"
                )
            time.sleep(100e-6)


class _TorchGroup:
    """The ranks of a process group of torch, which has a timeout of its own."""

    def __init__(self, group: Any, _timeout: float) -> None:
        self._group = group
        self.rank, self.size = int(group.rank()), int(group.size())

    def all_gather(self, data: bytes, /) -> list[bytes]:
        """Gather with the backend of the process group."""
        gathered: list[Any] = [None] * self.size
        sys.modules["torch.distributed"].all_gather_object(gathered, data, group=self._group)
        return gathered


#: The classes of groups that are not a `RankGroup`, by the library and the name of the class.
_ADAPTERS: dict[tuple[str, str], Callable[[Any, float], RankGroup]] = {
    ("mpi4py", "Comm"): _MpiGroup,
    ("torch", "ProcessGroup"): _TorchGroup,
}


def as_group(group: Any, timeout: float) -> RankGroup:
    """Return the group behind each form that `symmetric` takes; TypeError: it is none."""
    for cls in type(group).__mro__:
        if adapter := _ADAPTERS.get((cls.__module__.partition(".")[0], cls.__name__)):
            return adapter(group, timeout)
    if not callable(getattr(group, "all_gather", None)):
        raise TypeError(
            f"group is of type {type(group).__name__}; it must be a communicator of mpi4py, a "
            "process group of torch.distributed (torch.distributed.group.WORLD), a StoreGroup, or "
            "one of sycl_ext_symmetric.groups(size)"
        )
    if not 0 <= group.rank < group.size:
        raise ValueError(f"group has rank {group.rank!r} of {group.size!r}")
    return group  # type: ignore[no-any-return]
