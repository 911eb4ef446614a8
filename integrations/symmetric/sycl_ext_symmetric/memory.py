# SPDX-License-Identifier: Apache-2.0
"""`symmetric`: a block of each rank of a group, which all ranks can use.

The ranks agree by three messages, in which each one also tells why it fails, so that an error of
one of them is an error of all: their processes, when each has its block; the handles; and that all
blocks were opened.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeVar

import sycl_ext as sx
from sycl_ext_symmetric.groups import TIMEOUT, RankGroup, as_group, require_timeout
from sycl_ext_symmetric.launcher import common_ancestor

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

Result = TypeVar("Result")
Message = TypeVar("Message")


class SymmetricMemory:
    """The blocks of all ranks of a group, as tensors of this process; made by `symmetric`.

    The tensors are valid as long as they are kept, whatever the other ranks do.
    """

    def __init__(self, tensors: tuple[sx.Tensor, ...], mechanism: Any, ranks: RankGroup) -> None:
        self._tensors, self._mechanism, self._ranks = tensors, mechanism, ranks

    @property
    def rank(self) -> int:
        """Number of this process in the group."""
        return self._ranks.rank

    @property
    def size(self) -> int:
        """Number of ranks."""
        return self._ranks.size

    @property
    def tensors(self) -> tuple[sx.Tensor, ...]:
        """The block of each rank, by rank. All processes use the same memory."""
        return self._tensors

    @property
    def mine(self) -> sx.Tensor:
        """The block that this process has allocated: ``tensors[rank]``."""
        return self._tensors[self.rank]

    @property
    def mechanism(self) -> Literal["sycl", "shared memory"]:
        """How the other ranks reach this block, as of ``sycl_ext.ipc.Handle``."""
        mechanism: Literal["sycl", "shared memory"] = self._mechanism
        return mechanism

    def barrier(self) -> None:
        """Wait until all ranks have called it; they then see what each has written.

        Pending work on the tensors is waited for, so that writes before the barrier are complete
        after it in all processes. The ranks meet as in `symmetric`, and errors are the same.
        """
        for tensor in self._tensors:
            tensor.wait()
        self._ranks.all_gather(b"")

    def __repr__(self) -> str:
        what = f"rank={self.rank}, size={self.size}, shape={self.mine.shape}"
        return f"SymmetricMemory({what}, dtype={self.mine.dtype}, mechanism={self.mechanism!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "symmetric memory belongs to one rank of its group, and cannot be pickled or copied; "
            "send sycl_ext.ipc.handle(memory.mine)"
        )


def symmetric(
    shape: int | tuple[int, ...],
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
        Of the block of this rank, as for ``sycl_ext.ipc.empty``.
    group
        How the ranks meet, here and in `SymmetricMemory.barrier`: a communicator of mpi4py
        (``MPI.COMM_WORLD``), a process group of torch (``torch.distributed.group.WORLD``), a
        `StoreGroup`, one of `groups`, or an object with ``rank``, ``size`` and
        ``all_gather(bytes)``, which returns a list of bytes. The processes run on one machine.
    timeout : float
        Seconds that a rank of MPI waits for the others. The other groups have a timeout of their
        own.

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
    descend, such as the launcher, during this call. See `peer` of ``sycl_ext.ipc.handle``.

    Examples
    --------
    >>> from sycl_ext_symmetric import groups, symmetric
    >>> (alone,) = groups(1)  # or MPI.COMM_WORLD, or torch.distributed.group.WORLD
    >>> memory = symmetric((2, 3), "int32", alone, device="cpu")
    >>> memory
    SymmetricMemory(rank=0, size=1, shape=(2, 3), dtype=int32, mechanism='shared memory')
    >>> _ = memory.mine.fill(7)
    >>> memory.barrier()
    >>> memory.tensors[0].tolist()
    [[7, 7, 7], [7, 7, 7]]
    """
    ranks = as_group(group, require_timeout(timeout))

    def allocate() -> sx.Tensor:
        return sx.ipc.empty(shape, dtype, device=device)

    block, processes = _agree(ranks, allocate, lambda _: os.getpid())
    handle, handles = _agree(ranks, lambda: _handle(block, processes), lambda handle: handle)
    _require_alike(handles)
    tensors, _ = _agree(ranks, lambda: _open(ranks, block, handles), lambda _: None)
    return SymmetricMemory(tensors, handle.mechanism, ranks)


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


def _handle(block: sx.Tensor, processes: list[int]) -> sx.ipc.Handle:
    """Return a handle that all ranks may open, if they have an ancestor that is seen here.

    Otherwise, as for ranks that ``docker exec`` has started, the kernel decides without it.
    """
    handle = sx.ipc.handle(block)
    if handle.mechanism == "sycl" and (ancestor := common_ancestor(processes)):
        handle = sx.ipc.handle(block, peer=ancestor)
    return handle


def _require_alike(handles: list[sx.ipc.Handle]) -> None:
    first = handles[0]
    for rank, handle in enumerate(handles):
        if (handle.shape, handle.dtype) != (first.shape, first.dtype):
            raise ValueError(
                f"rank {rank} asks for {handle.dtype} of shape {handle.shape}, and rank 0 for "
                f"{first.dtype} of shape {first.shape}; pass the same to symmetric on each rank"
            )


def _open(
    ranks: RankGroup, block: sx.Tensor, handles: list[sx.ipc.Handle]
) -> tuple[sx.Tensor, ...]:
    def tensor(rank: int, handle: sx.ipc.Handle) -> sx.Tensor:
        if rank == ranks.rank:
            return block
        # Device USM is opened where it was allocated, which may be another device.
        shared = handle.mechanism == "shared memory"
        return sx.ipc.open(handle, device=block.device if shared else None)

    return tuple(tensor(rank, handle) for rank, handle in enumerate(handles))
