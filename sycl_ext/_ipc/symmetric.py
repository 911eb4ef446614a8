# SPDX-License-Identifier: Apache-2.0
"""`ipc.symmetric`: a block of each rank of a group, which all ranks can use.

The ranks agree by three messages, in which each one also tells why it fails, so that an error of
one of them is an error of all: the handles; then, for device USM, that the kernel may be asked for
them; and that all blocks were opened.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, TypeVar, cast

from sycl_ext._devices.placement import place
from sycl_ext._ipc import handles
from sycl_ext._ipc.groups import TIMEOUT, RankGroup, as_group, require_timeout
from sycl_ext._ipc.meetings import Meeting, make_meeting
from sycl_ext._ipc.peers import Permission
from sycl_ext._ipc.processes import common_ancestor
from sycl_ext._negotiation.kinds import Shape

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from sycl_ext._devices.device import Device
    from sycl_ext._ipc.shared_memory import Block, BlockKey
    from sycl_ext._tensor.tensor import Tensor

Result = TypeVar("Result")
Message = TypeVar("Message")
_WHAT = "symmetric memory"


class SymmetricMemory:
    """The blocks of all ranks of a group, as tensors of this process; made by `ipc.symmetric`.

    The tensors are valid as long as they are kept, whatever the other ranks do. Drop the object to
    leave the group: the other ranks keep the blocks, and get an error at the next `barrier`.
    """

    __module__ = "sycl_ext.ipc"

    def __init__(
        self,
        tensors: tuple[Tensor, ...],
        handle: handles.Handle,
        meeting: Meeting,
        timeout: float,
    ) -> None:
        self._tensors, self._handle = tensors, handle
        self._meeting, self._timeout = meeting, timeout

    @property
    def rank(self) -> int:
        """Number of this process in the group."""
        return self._meeting.rank

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self._meeting.size

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """The block of each rank, by rank. All processes use the same memory."""
        return self._tensors

    @property
    def mine(self) -> Tensor:
        """The block that this process has allocated: ``tensors[rank]``."""
        return self._tensors[self.rank]

    @property
    def mechanism(self) -> Literal["sycl", "shared memory"]:
        """How the other ranks reach this block, as of `ipc.Handle`."""
        return self._handle.mechanism

    def barrier(self, timeout: float | None = None) -> None:
        """Wait until all ranks have called it; they then see what each has written.

        Pending work on the tensors is waited for, so that writes before the barrier are complete
        after it in all processes. One thread of each rank calls it. It needs neither the group nor
        a launcher. A call that ends with a TimeoutError or by Ctrl-C can be repeated.

        Parameters
        ----------
        timeout : float, optional
            Seconds; None: those of `ipc.symmetric`.

        Raises
        ------
        BrokenBarrierError
            Of ``threading``: another rank has ended, or has dropped its object.
        TimeoutError
            If another rank does not call it. The message names the rank and its process.
        SyclError
            If pending work has failed.

        Examples
        --------
        >>> import sycl_ext as sx
        >>> (alone,) = sx.ipc.groups(1)
        >>> memory = sx.ipc.symmetric(3, group=alone, device="cpu")
        >>> memory.barrier(timeout=10)
        """
        limit = self._timeout if timeout is None else require_timeout(timeout)
        for tensor in self._tensors:
            tensor.wait()
        self._meeting.barrier(limit)

    def __repr__(self) -> str:
        what = f"rank={self.rank}, size={self.size}, shape={self.mine.shape}"
        return f"SymmetricMemory({what}, dtype={self.mine.dtype}, mechanism={self.mechanism!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "symmetric memory belongs to one rank of its group, and cannot be pickled or copied; "
            "send sycl_ext.ipc.handle(memory.mine)"
        )


def symmetric(
    shape: Shape,
    dtype: DTypeLike = "float32",
    group: Any = None,
    *,
    device: Any = None,
    timeout: float = TIMEOUT,
) -> SymmetricMemory:
    """Allocate a block on each rank of a group, and open the blocks of all ranks.

    All ranks must call it together, with the same shape and dtype. Nothing is copied: a rank reads
    and writes the blocks of the others in place, and `SymmetricMemory.barrier` orders that.

    Parameters
    ----------
    shape, dtype, device
        Of the block of this rank, as for `ipc.empty`.
    group
        A communicator of mpi4py (``MPI.COMM_WORLD``), a process group of torch
        (``torch.distributed.group.WORLD``), one of `ipc.groups`, or an object with ``rank``,
        ``size`` and ``all_gather(bytes)``, which returns a list of bytes. The processes run on one
        machine; see `ipc.open`. The group is used in this call alone.
    timeout : float
        Seconds that a rank waits for the others, here and in `SymmetricMemory.barrier`. For the
        group of another library, and in `ipc.groups`, its own timeout counts in this call; in MPI,
        which has none, this one.

    Returns
    -------
    SymmetricMemory
        With one tensor for each rank.

    Raises
    ------
    BufferError
        If any rank cannot allocate its block, or open another one. All ranks raise it, and the
        message names the first rank that failed.
    ValueError
        If shape or dtype differ between ranks, or if an argument of this rank is wrong.
    TypeError
        If `group` is not a group.
    TimeoutError, BrokenBarrierError
        If a rank does not come, or has ended.

    Notes
    -----
    If ``kernel.yama.ptrace_scope`` is 1, device USM of a GPU can be opened by a process that has a
    permission. Each rank gives it to the descendants of the nearest process from which all ranks
    descend, such as the launcher, during this call. See `peer` of `ipc.handle`.

    Examples
    --------
    >>> import sycl_ext as sx
    >>> (alone,) = sx.ipc.groups(1)  # or MPI.COMM_WORLD, or torch.distributed.group.WORLD
    >>> memory = sx.ipc.symmetric((2, 3), "int32", alone, device="cpu")
    >>> memory
    SymmetricMemory(rank=0, size=1, shape=(2, 3), dtype=int32, mechanism='shared memory')
    >>> _ = memory.mine.fill(7)
    >>> memory.barrier()
    >>> memory.tensors[0].tolist()
    [[7, 7, 7], [7, 7, 7]]
    """
    seconds = require_timeout(timeout)
    ranks = as_group(group, seconds)
    own, offers = _agree(ranks, lambda: _allocate(ranks, shape, dtype, device), _Own.offer)
    _require_alike(offers)
    permission = None
    if any(offer.handle.mechanism == "sycl" for offer in offers):
        processes = [offer.process for offer in offers]
        permission, _ = _agree(ranks, lambda: _permit(processes), lambda _: None)
    opened, _ = _agree(ranks, lambda: _open(ranks, own, offers), lambda _: None)
    tensors, handle, meeting = opened
    del permission  # all ranks have opened all blocks
    return SymmetricMemory(tensors, handle, meeting, seconds)


def _agree(
    ranks: RankGroup, step: Callable[[], Result], message: Callable[[Result], Message]
) -> tuple[Result, list[Message]]:
    """Return the result of a step on this rank, and the messages about it of all ranks.

    If it fails on any rank, by Ctrl-C as well, it fails on all; so they are at one place again.
    """
    failure = None
    try:
        mine = step()
        data = pickle.dumps(("", message(mine)))
    except BaseException as error:
        failure = error
        data = pickle.dumps((f"{type(error).__name__}: {error}", None))
    told = [pickle.loads(data) for data in ranks.all_gather(data)]
    if failure is not None:
        raise failure
    for rank, (text, _) in enumerate(told):
        if text:
            raise BufferError(f"rank {rank} of {ranks.size} failed to share its memory: {text}")
    return mine, [message for _, message in told]


class _Offer(NamedTuple):
    """What a rank tells the others about its block."""

    handle: handles.Handle
    meeting: BlockKey | None
    process: int


class _Own(NamedTuple):
    """What a rank has made."""

    block: Tensor
    handle: handles.Handle
    device: Device
    meeting: Block | None  # of rank 0

    def offer(self) -> _Offer:
        """Return the message for the other ranks."""
        key = None if self.meeting is None else self.meeting.key
        return _Offer(self.handle, key, os.getpid())


def _allocate(ranks: RankGroup, shape: Shape, dtype: DTypeLike, device: Any) -> _Own:
    where = place(device).device
    block = handles.empty(shape, dtype, device=device)
    meeting = make_meeting(ranks.size) if ranks.rank == 0 else None
    return _Own(block, handles.handle(block), where, meeting)


def _require_alike(offers: list[_Offer]) -> None:
    first = offers[0].handle
    for rank, (handle, *_) in enumerate(offers):
        if (handle.shape, handle.dtype) != (first.shape, first.dtype):
            raise ValueError(
                f"rank {rank} asks for {handle.dtype} of shape {handle.shape}, and rank 0 for "
                f"{first.dtype} of shape {first.shape}; pass the same to symmetric on each rank"
            )


def _permit(processes: list[int]) -> Permission | None:
    """Let all ranks open memory of this one, if they have an ancestor that is seen here.

    Otherwise, as for ranks that ``docker exec`` has started, the kernel decides without it.
    """
    ancestor = common_ancestor(processes)
    return Permission(ancestor) if ancestor else None


def _open(
    ranks: RankGroup, own: _Own, offers: list[_Offer]
) -> tuple[tuple[Tensor, ...], handles.Handle, Meeting]:
    def tensor(rank: int, handle: handles.Handle) -> Tensor:
        if rank == ranks.rank:
            return own.block
        # Device USM is opened where it was allocated, which may be another device.
        shared = handle.mechanism == "shared memory"
        return handles.open(handle, device=own.device if shared else None)

    tensors = tuple(tensor(rank, offer.handle) for rank, offer in enumerate(offers))
    if own.meeting is not None:
        meeting = Meeting(own.meeting, ranks.rank, ranks.size, _WHAT)
    else:
        key = cast("BlockKey", offers[0].meeting)
        meeting = Meeting.open(key, ranks.rank, ranks.size, _WHAT)
    return tensors, own.handle, meeting
