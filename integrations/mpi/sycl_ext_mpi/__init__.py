# SPDX-License-Identifier: Apache-2.0
"""Test whether an MPI that claims to support GPU memory transfers it correctly: ``check``.

It imports no mpi4py: everything is a method of the communicator.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

import sycl_ext as sx

__all__ = ["Check", "Outcome", "check"]

__version__ = "0.1.0"

UsmType = Literal["device", "shared", "host"]
#: The kinds of USM that tensors are allocated in.
ALLOCATED: tuple[UsmType, ...] = get_args(UsmType)
#: Bytes of the messages. MPI sends a small one at once; a large one is fetched by the receiver, or
#: goes from GPU to GPU. MPICH has failed at 128 and 256 (https://github.com/pmodels/mpich/issues/7971).
SIZES = (1, 128, 256, 4096, 64 << 10, 4 << 20, 64 << 20)
#: The names of MPI's memory kinds (MPI 4.1, "Memory Allocation Kinds"), by backend of SYCL.
NAMES = {"level_zero": "level_zero", "cuda": "cuda", "hip": "rocm"}
#: Variables that a launcher sets for its ranks; without them a process is an MPI job of its own.
LAUNCHERS = ("PMI", "PMIX_", "OMPI_", "PRTE_", "HYD", "PALS_", "SLURM_", "MPI_LOCAL", "I_MPI_HYDRA")
#: The first statements of a child. The kernel kills it when the thread ends that has started it,
#: whatever this process is doing; `parent` may have ended before that.
PROLOGUE = """
import ctypes, os, signal
ctypes.CDLL(None).prctl(1, ctypes.c_ulong(signal.SIGKILL))  # PR_SET_PDEATHSIG
if os.getppid() != {parent}:
    os._exit(1)
"""
Bytes: TypeAlias = "np.ndarray[Any, np.dtype[np.uint8]]"


@dataclass(frozen=True)
class Outcome:
    """The outcome of one operation with messages of one size; true if all bytes arrived."""

    operation: str
    nbytes: int
    reason: str

    def __bool__(self) -> bool:
        return not self.reason


@dataclass(frozen=True)
class Check:
    """The result of `check`; true if the communicator can use memory of the device directly.

    ``print`` shows it as a table of operations and sizes.

    Attributes
    ----------
    reason : str
        The reason if it cannot, with the rank that found it; otherwise "".
    outcomes : tuple
        What was tried between the ranks; each has ``operation``, ``nbytes`` and ``reason``.
    """

    reason: str
    outcomes: tuple[Outcome, ...] = field(default=(), repr=False)
    #: The device whose memory was tried; None: the communicator does not claim to support it.
    _device: sx.Device | None = field(default=None, repr=False)

    def __bool__(self) -> bool:
        return not self.reason

    def takes(self, t: sx.Tensor) -> bool | None:
        """Return whether the communicator handles the memory of a tensor, for ``staged(direct=)``.

        None: nothing is known of it, because another device or none was tried. False: MPI claims
        the memory and fails, so it may mistake any USM for memory of a GPU.
        """
        if self._device is None or t.device.root_id != self._device.root_id:
            return None
        return bool(self)

    def __str__(self) -> str:
        sizes = list(dict.fromkeys(outcome.nbytes for outcome in self.outcomes))
        rows = {outcome.operation: [""] * len(sizes) for outcome in self.outcomes}
        for outcome in self.outcomes:
            rows[outcome.operation][sizes.index(outcome.nbytes)] = "ok" if outcome else "FAILED"
        lines = [("bytes", [*map(str, sizes)]), *rows.items()] if rows else []
        table = [f"{name:<10}" + "".join(f"{cell:>10}" for cell in cells) for name, cells in lines]
        return "\n".join((*table, self.reason or "MPI handles memory of the device"))


class Operation(NamedTuple):
    """An operation of MPI, and how many parts a rank sends and receives, by the number of ranks."""

    call: Callable[[Any, Any, Any], object]  # of the communicator, and what is sent and received
    wanted: Callable[[int, int, int], Bytes | None]  # by rank, number of ranks and bytes of a part
    sent: Callable[[int], int] = lambda _: 1
    received: Callable[[int], int] = lambda _: 1


def _to_next(comm: Any, sent: Any, received: Any) -> None:
    rank, size = comm.Get_rank(), comm.Get_size()
    comm.Sendrecv(sent, (rank + 1) % size, recvbuf=received, source=(rank - 1) % size)


def _to_first(comm: Any, sent: Any, received: Any) -> None:
    comm.Gather(sent, None if comm.Get_rank() else received, root=0)


def _from_first(comm: Any, sent: Any, received: Any) -> None:
    comm.Scatter(None if comm.Get_rank() else sent, received, root=0)


def _all_of(size: int, nbytes: int) -> list[Bytes]:
    return [_bytes_of(rank, nbytes) for rank in range(size)]


#: The operations that are tried. A sum of bytes wraps around.
OPERATIONS = {
    "Sendrecv": Operation(_to_next, lambda rank, size, n: _bytes_of((rank - 1) % size, n)),
    "Gather": Operation(
        _to_first,
        lambda rank, size, n: None if rank else np.concatenate(_all_of(size, n)),
        received=lambda size: size,
    ),
    "Scatter": Operation(
        _from_first, lambda rank, _size, n: _bytes_of(rank, n), sent=lambda size: size
    ),
    "Allreduce": Operation(
        lambda comm, sent, received: comm.Allreduce(sent, received),
        lambda _, size, n: np.sum(_all_of(size, n), axis=0, dtype="uint8"),
    ),
}


def check(comm: Any, /, device: Any = None) -> Check:
    """Test whether MPI handles the memory of a device.

    A GPU-aware MPI declares its support (``mpi_memory_alloc_kinds`` of MPI 4.1; ``I_MPI_OFFLOAD``
    of Intel MPI). To verify it, each rank starts a child process that sends, gathers, scatters and
    reduces messages of 1 byte to 64 MB from and to each kind of USM, and the ranks do the same
    together. The declaration is trusted only if all children survive and all bytes arrive.

    All ranks of ``comm`` must call it together.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
    device : optional
        The device, in any form; None: the default device.

    Returns
    -------
    Check
        The same on every rank. It is true or has a `reason`, and prints as a table;
        ``sycl_ext.staged(t, direct=result.takes(t))`` uses it.

    Raises
    ------
    TypeError
        If ``comm`` is not a communicator, or is an intercommunicator.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> import sycl_ext_mpi
    >>> result = sycl_ext_mpi.check(MPI.COMM_WORLD, "cpu")
    >>> bool(result), result.reason
    (False, 'rank 0: MPI has no name for memory of the backend opencl')
    """
    if not hasattr(comm, "Is_inter"):
        raise TypeError(f"an object of type {type(comm).__name__} is not a communicator of mpi4py")
    if comm.Is_inter():
        raise TypeError("comm is an intercommunicator; pass check the result of its Merge()")
    try:
        root = sx.device(sx.device(device).root_id)
    except Exception as error:
        # The other ranks wait for an answer, and "" would say that nothing is wrong.
        _agreed(comm, str(error) or type(error).__name__)
        raise
    if unclaimed := _agreed(comm, _claim(comm, root)):
        return Check(unclaimed)
    failed_apart = _agreed(comm, _try_apart(root))
    return Check(failed_apart, _device=root) if failed_apart else _tried(comm, root)


def _agreed(comm: Any, reason: str) -> str:
    """Return the reason of the first rank that has one, or ""; all ranks call this together."""
    return _first(comm.allgather(reason))


def _first(told: Iterable[str]) -> str:
    """Return the first reason among those of all ranks, or ""."""
    return next((f"rank {rank}: {text}" for rank, text in enumerate(told) if text), "")


def _claim(comm: Any, root: sx.Device) -> str:
    """Return why the communicator declares no support for memory of the device, or ""."""
    name = NAMES.get(root.backend)
    if name is None:
        return f"MPI has no name for memory of the backend {root.backend}"
    if not root.usm_types:
        return f"the device {root.name!r} has no USM"
    said = comm.Get_info().Get("mpi_memory_alloc_kinds") or ""
    kinds = [kind.strip() for kind in said.split(",")]
    if any(kind == name or kind.startswith(f"{name}:") for kind in kinds):
        return ""
    if name == "level_zero" and os.environ.get("I_MPI_OFFLOAD", "0") not in ("", "0"):
        return ""
    return f"MPI says that it takes memory of {', '.join(filter(None, kinds)) or 'no kind'}"


def _try_apart(root: sx.Device) -> str:
    """Return the reason if a child process with MPI and the device failed, or ""."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith(LAUNCHERS)}
    code = f"from sycl_ext_mpi import run_apart; run_apart({root.id})"
    prologue = PROLOGUE.format(parent=os.getpid()) if sys.platform == "linux" else ""
    try:
        done = subprocess.run(
            [sys.executable, "-c", prologue + code],
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",  # a driver may write anything
            timeout=300,
            check=False,
        )
    except OSError as error:
        return f"a process that sends itself memory of the device did not start: {error}"
    except subprocess.TimeoutExpired:
        return "a process that sends itself memory of the device did not end"
    if done.returncode == 0:
        return ""
    last = done.stderr.strip().splitlines()[-1:]
    why = ": ".join([f"exit code {done.returncode}", *last])
    return f"a process that sends itself memory of the device failed: {why}"


def run_apart(root_id: int) -> None:
    """Exchange with this process, which is the child, and exit with the first difference."""
    from mpi4py import MPI

    outcomes = _compare(MPI.COMM_SELF, sx.device(root_id))
    if wrong := next((outcome.reason for outcome in outcomes if not outcome), ""):
        sys.exit(wrong)


def _tried(comm: Any, root: sx.Device) -> Check:
    """Return the result of the exchanges between the ranks, which is the same on all of them."""
    outcomes = _compare(comm, root)
    told = comm.allgather([outcome.reason for outcome in outcomes])
    agreed = [
        replace(outcome, reason=_first(reasons))
        for outcome, reasons in zip(outcomes, zip(*told, strict=True), strict=True)
    ]
    reason = next((outcome.reason for outcome in agreed if not outcome), "")
    return Check(reason, tuple(agreed), root)


def _compare(comm: Any, root: sx.Device) -> list[Outcome]:
    """Exchange between the ranks; return what this rank saw of each operation and size."""
    outcomes = []
    for name, nbytes in product(OPERATIONS, SIZES):
        wrong = [
            difference
            for source, target in _kinds(root, nbytes)
            if (difference := _difference(comm, root, OPERATIONS[name], nbytes, source, target))
        ]
        reason = f"{name} of {nbytes} bytes {wrong[0]}" if wrong else ""
        outcomes.append(Outcome(name, nbytes, reason))
    return outcomes


def _kinds(root: sx.Device, nbytes: int) -> list[tuple[UsmType, UsmType]]:
    """Return the pairs of kinds of USM to exchange between.

    Each rank makes the same number of exchanges, even if its device has fewer kinds. The largest
    messages stay within a kind, because each takes a while.
    """
    own = [kind for kind in ALLOCATED if kind in root.usm_types]
    kinds = [kind if kind in own else own[0] for kind in ALLOCATED]
    return [*zip(kinds, kinds, strict=True)] if nbytes == SIZES[-1] else [*product(kinds, kinds)]


def _difference(
    comm: Any, root: sx.Device, operation: Operation, nbytes: int, source: UsmType, target: UsmType
) -> str:
    """Make one exchange; return what went wrong, or "". An error does not end the others."""
    rank, size = comm.Get_rank(), comm.Get_size()
    where = f"from {source} to {target} USM"
    share = min(nbytes, max(SIZES[-1] // size, 1))  # of all ranks at most as much as the largest
    to = range(rank, rank + operation.sent(size))
    sent = np.concatenate([_bytes_of(receiver, share) for receiver in to])
    received = np.zeros(share * operation.received(size), "uint8")
    wanted = operation.wanted(rank, size, share)
    failure = ""
    try:
        usm = sx.empty(sent.size, "uint8", usm_type=source, device=root).copy_from(sent)
        made = sx.zeros(received.size, "uint8", usm_type=target, device=root)
        for tensor in (usm, made):
            tensor.wait()
        sent, received = usm, made  # type: ignore[assignment]
    except Exception as error:  # plain memory is sent in its place, because the neighbours wait
        failure = f"{where}: {error}"
    try:
        operation.call(comm, sent, received)
    except Exception as error:
        return failure or f"{where}: {error}"
    is_right = wanted is None or np.array_equal(np.asarray(sx.host_view(received)), wanted)
    return failure or ("" if is_right else f"{where} arrived changed")


def _bytes_of(rank: int, nbytes: int) -> Bytes:
    """Return the data of a rank: other bytes than those of its neighbours, and not zero."""
    return np.resize(((np.arange(251) * 7 + rank) % 251 + 1).astype(np.uint8), nbytes)
