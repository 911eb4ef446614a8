# SPDX-License-Identifier: Apache-2.0
"""Groups of ranks that make symmetric memory together: those of MPI, of torch, and our own.

All that is needed of a group are its `rank`, its `size`, and `all_gather` of bytes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from threading import BrokenBarrierError
from typing import Any, Protocol, SupportsIndex

import numpy as np

from sycl_ext._devices.memory_use import released_with
from sycl_ext._ipc.meetings import Meeting, all_have_joined, make_meeting
from sycl_ext._ipc.shared_memory import Block, BlockKey
from sycl_ext._negotiation.kinds import CopiesToItself, is_int

#: Seconds that a rank waits for the others, if the user names no other time.
TIMEOUT = 300.0


class RankGroup(Protocol):
    """What `ipc.symmetric` uses of a group."""

    @property
    def rank(self) -> int:
        """Number of this process in the group."""

    @property
    def size(self) -> int:
        """Number of processes."""

    def all_gather(self, data: bytes, /) -> list[bytes]:
        """Return the bytes of all ranks, by rank; all ranks call it together."""


class Group(CopiesToItself):
    """One rank of a group of processes on this machine; made by `ipc.groups`.

    Its pickle has some hundred bytes, and can be sent to the process that will be this rank by any
    means. That process can use it for any number of calls of `ipc.symmetric`, if it keeps the
    object: a rank cannot be joined a second time by another object from the same pickle.
    """

    __module__ = "sycl_ext.ipc"

    def __init__(
        self, block: Block | None, key: BlockKey, rank: int, size: int, timeout: float
    ) -> None:
        self._block, self._key, self._timeout = block, key, timeout
        self._rank, self._size = rank, size
        self._meeting: Meeting | None = None

    @property
    def rank(self) -> int:
        """Number of this rank, from 0."""
        return self._rank

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self._size

    def all_gather(self, data: bytes, /) -> list[bytes]:
        """Return the bytes of all ranks, by rank. All ranks must call it together.

        Raises
        ------
        BrokenBarrierError
            If another rank has ended, or has dropped its object.
        TimeoutError
            If another rank does not call it.
        BufferError
            If the process that made the group has ended before this one used it.
        TypeError
            If `data` is not a buffer of bytes.
        ValueError
            If another object, such as one from the same pickle, has joined as this rank.

        Examples
        --------
        >>> import sycl_ext as sx
        >>> (alone,) = sx.ipc.groups(1)
        >>> alone.all_gather(b"data")
        [b'data']
        """
        try:
            content = bytes(memoryview(data))  # bytes(5) would be five zeros
        except TypeError:
            raise TypeError(f"data is of type {type(data).__name__}; it must be bytes") from None
        return self._joined().all_gather(content, self._timeout)

    def _joined(self) -> Meeting:
        if self._meeting is None:
            if self._block is None:
                self._meeting = Meeting.open(self._key, self._rank, self._size, "group")
            else:
                self._meeting = Meeting(self._block, self._rank, self._size, "group")
        return self._meeting

    def __repr__(self) -> str:
        return f"Group(rank={self._rank}, size={self._size})"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._block is not None:
            _kept[self._key] = self._block, self._size
        return _read_group, (tuple(self._key), self._rank, self._size, self._timeout)


def _read_group(*values: Any) -> Group:
    """Make a rank from the parts of a pickle, after checking them."""
    match values:
        case ((int(), int(), int(), int()) as key, int(rank), int(size), float(timeout)) if (
            0 <= rank < size
        ):
            return Group(block=None, key=BlockKey(*key), rank=rank, size=size, timeout=timeout)
    raise ValueError(
        f"this is not a pickle of a sycl_ext.ipc.Group: it has {values!r}; use one version of "
        "sycl_ext in both processes"
    )


#: Blocks of groups that were sent, and that not all ranks have joined. `multiprocessing` drops the
#: arguments of a process that it has started, so without this a rank would find no block. They are
#: dropped when all ranks have joined; a group that a rank never joins stays.
_kept: dict[BlockKey, tuple[Block, int]] = {}


def _forget_joined() -> None:
    """Drop the blocks of groups that all ranks have joined, and so keep themselves."""
    for key, (block, size) in list(_kept.items()):
        if all_have_joined(block, size):
            _kept.pop(key, None)


released_with.append(_forget_joined)


def groups(size: SupportsIndex, *, timeout: float = TIMEOUT) -> tuple[Group, ...]:
    """Return the ranks of a new group, to be sent to one process each.

    Use it where there is neither MPI nor ``torch.distributed``: with ``multiprocessing``, Dask,
    Ray, or programs of their own. The process that makes the group must live until all ranks have
    used it.

    Parameters
    ----------
    size : int
        Number of ranks.
    timeout : float
        Seconds that a rank waits for the others.

    Returns
    -------
    tuple of Group
        One for each rank.

    Raises
    ------
    ValueError
        If `size` is less than 1, or `timeout` is not positive.
    BufferError
        If the system has no shared memory without names (Linux has).

    Examples
    --------
    Each process gets one of them, for example as an argument of ``multiprocessing.Process``:

    >>> import pickle, sycl_ext as sx
    >>> first, second = sx.ipc.groups(2)
    >>> pickle.loads(pickle.dumps(second))
    Group(rank=1, size=2)
    """
    if not is_int(size) or int(size) < 1:
        raise ValueError(f"size is {size!r}; a group has at least one rank")
    count, seconds = int(size), require_timeout(timeout)
    _forget_joined()
    block = make_meeting(count)
    return tuple(Group(block, block.key, rank, count, seconds) for rank in range(count))


def require_timeout(timeout: Any) -> float:
    """Return seconds; ValueError unless they are a positive number."""
    try:
        if isinstance(timeout, bool) or not float(timeout) > 0:
            raise ValueError
        return float(timeout)
    except (TypeError, ValueError):
        raise ValueError(
            f"timeout is {timeout!r}; it must be a positive number of seconds, or math.inf"
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
    """Return the group behind each form that `ipc.symmetric` takes; TypeError: it is none."""
    for cls in type(group).__mro__:
        if adapter := _ADAPTERS.get((cls.__module__.partition(".")[0], cls.__name__)):
            return adapter(group, timeout)
    if not callable(getattr(group, "all_gather", None)):
        raise TypeError(
            f"group is of type {type(group).__name__}; it must be a communicator of mpi4py, a "
            "process group of torch.distributed (torch.distributed.group.WORLD), or one of "
            "sycl_ext.ipc.groups(size)"
        )
    if not (is_int(group.size) and is_int(group.rank) and 0 <= group.rank < group.size):
        raise ValueError(f"group has rank {group.rank!r} of {group.size!r}")
    return group  # type: ignore[no-any-return]
