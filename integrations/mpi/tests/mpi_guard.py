# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: N802 (methods of MPI)
"""Ranks with an MPI that claims GPU support and lacks it: ``mpiexec -n 2 python mpi_guard.py``.

The GPU is a stand-in whose memory the host cannot touch, and the MPI a real one that is not
GPU-aware, so a device pointer ends the process that hands it over.
"""

from __future__ import annotations

import contextlib
import gc
from typing import Any

import numpy as np
import pytest
from mpi4py import MPI

import sycl_ext as sx
import sycl_ext_mpi as mpi

WORLD = MPI.COMM_WORLD
RANK, OTHER = WORLD.rank, 1 - WORLD.rank
GPU = sx.device("level_zero:gpu:1")
NUMBERS = np.arange(1000.0)
TRY_APART = mpi._try_apart


class Claims(MPI.Intracomm):
    """Says that it takes memory of GPUs."""

    def Get_info(self) -> Any:
        return self

    def Get(self, key: str) -> str | None:
        return "mpi, system, level_zero:device" if key == "mpi_memory_alloc_kinds" else None


class Takes(Claims):
    """Takes it as well."""

    def Sendrecv(self, mine: Any, dest: int, *, recvbuf: Any, source: int) -> None:
        if not isinstance(mine, sx.Tensor):
            WORLD.Sendrecv(mine, dest, recvbuf=recvbuf, source=source)
            return
        with sx.staged(mine, "r") as send, sx.staged(recvbuf, "w") as receive:
            WORLD.Sendrecv(send, dest, recvbuf=receive, source=source)

    def _collect(self, operation: Any, mine: Any, theirs: Any, **how: Any) -> None:
        """One operation of all ranks, of which the root alone has both sides."""
        with contextlib.ExitStack() as stack:
            sides = [
                stack.enter_context(sx.staged(side, mode)) if isinstance(side, sx.Tensor) else side
                for side, mode in ((mine, "r"), (theirs, "w"))
            ]
            operation(*sides, **how)

    def Gather(self, mine: Any, theirs: Any, root: int = 0) -> None:
        self._collect(WORLD.Gather, mine, theirs, root=root)

    def Scatter(self, mine: Any, theirs: Any, root: int = 0) -> None:
        self._collect(WORLD.Scatter, mine, theirs, root=root)

    def Allreduce(self, mine: Any, theirs: Any) -> None:
        self._collect(WORLD.Allreduce, mine, theirs)


class Corrupts(Takes):
    """On one rank, one byte of large messages between device USM."""

    def Sendrecv(self, mine: Any, dest: int, *, recvbuf: Any, source: int) -> None:
        super().Sendrecv(mine, dest, recvbuf=recvbuf, source=source)
        kinds = RANK, mine.usm_type, getattr(recvbuf, "usm_type", None)
        if kinds == (1, "device", "device") and mine.nbytes > 1 << 20:
            recvbuf[-1:].copy_from(np.zeros(1, "uint8"))

    def Gather(self, mine: Any, theirs: Any, root: int = 0) -> None:
        """As mpich#7971 does."""
        super().Gather(mine, theirs, root)
        if theirs is not None and mine.nbytes in (128, 256) and theirs.usm_type == "device":
            theirs[mine.nbytes :].copy_from(np.zeros(theirs.nbytes - mine.nbytes, "uint8"))


class Fails(Takes):
    def Sendrecv(self, mine: Any, dest: int, *, recvbuf: Any, source: int) -> None:
        raise RuntimeError("out of handles")


def on_gpu(value: float = 0.0) -> sx.Tensor:
    return sx.empty(1000, "float64", device=GPU).copy_from(NUMBERS + value)


def exchange_staged(comm: Any, result: mpi.Check) -> Any:
    """Numbers of the other rank through `staged`; returns what MPI got to send."""
    mine, theirs = on_gpu(RANK), on_gpu(-1)
    how = {"direct": result.takes(mine)}
    with sx.staged(mine, "r", **how) as send, sx.staged(theirs, "w", **how) as receive:
        comm.Sendrecv(send, OTHER, recvbuf=receive, source=OTHER)
    assert np.array_equal(theirs.to_numpy(), NUMBERS + OTHER)
    return send


def kind_of(memory: Any) -> str | None:
    """The kind of USM; None: plain memory."""
    try:
        kind = sx.as_tensor(memory, copy=False).usm_type
    except sx.CopyRefusedError:
        return None
    return None if kind == "system" else kind


def what_the_mpi_itself_says() -> None:
    """It says nothing of GPUs, so memory is staged in pinned memory, as without a check."""
    result = mpi.check(WORLD, GPU)
    assert not result
    assert result.reason == "rank 0: MPI says that it takes memory of mpi, system", result
    assert kind_of(exchange_staged(WORLD, result)) == "host"


def an_mpi_that_would_crash() -> None:
    """A process apart dies of it, and the job goes on, through plain memory."""
    comm = Claims(WORLD.Dup())
    result = mpi.check(comm, GPU)
    assert not result
    assert "a process that sends itself memory of the device failed" in result.reason, result
    assert kind_of(exchange_staged(comm, result)) is None
    shared = sx.zeros(3, usm_type="shared", device=GPU)  # this MPI might take it for a GPU's
    with sx.staged(shared, "w", direct=result.takes(shared)) as memory:
        assert kind_of(memory) is None
        np.asarray(memory)[:] = 7
    assert shared.to_numpy().tolist() == [7, 7, 7]
    with sx.staged(shared, "r") as memory:  # of an MPI of which nothing is known
        assert memory.ptr == shared.ptr


def an_mpi_that_corrupts() -> None:
    """All ranks know what one of them saw."""
    comm = Corrupts(WORLD.Dup())
    result = mpi.check(comm, GPU)
    assert result.reason == (
        "rank 1: Sendrecv of 4194304 bytes from device to device USM arrived changed"
    ), result
    failed = {(each.operation, each.nbytes) for each in result.outcomes if not each}
    assert failed == {
        *(("Sendrecv", nbytes) for nbytes in (4 << 20, 64 << 20)),
        *(("Gather", nbytes) for nbytes in (128, 256)),
    }
    assert str(result).splitlines() == [
        "bytes              1       128       256      4096     65536   4194304  67108864",
        "Sendrecv          ok        ok        ok        ok        ok    FAILED    FAILED",
        "Gather            ok    FAILED    FAILED        ok        ok        ok        ok",
        "Scatter           ok        ok        ok        ok        ok        ok        ok",
        "Allreduce         ok        ok        ok        ok        ok        ok        ok",
        result.reason,
    ]
    assert kind_of(exchange_staged(comm, result)) is None


def an_mpi_that_raises() -> None:
    result = mpi.check(Fails(WORLD.Dup()), GPU)
    assert result.reason == (
        "rank 0: Sendrecv of 1 bytes from device to device USM: out of handles"
    ), result


def one_rank_that_fails() -> None:
    """The other one does not wait for it."""
    comm = Takes(WORLD.Dup())
    device = "no such device" if RANK == 1 else GPU
    if RANK == 1:
        with pytest.raises(ValueError, match="no such device"):
            mpi.check(comm, device)
    else:
        result = mpi.check(comm, device)
        assert result.reason.startswith("rank 1: device is 'no such device'"), result
    try_apart, run = mpi._try_apart, mpi.subprocess.run
    mpi._try_apart = TRY_APART
    for process in ("import sys; sys.stderr.buffer.write(bytes([255])); sys.exit(3)", None):

        def run_that(command: list[str], process: str | None = process, **how: Any) -> Any:
            if process is None:
                raise BlockingIOError("no more processes")
            return run([*command[:2], process if RANK == 1 else ""], **how)

        mpi.subprocess.run = run_that
        result = mpi.check(comm, GPU)
        wanted = "did not start: no more processes" if process is None else "failed: exit code 3"
        assert wanted in result.reason, result
    mpi._try_apart, mpi.subprocess.run = try_apart, run


def other_communicators() -> None:
    between = WORLD.Split(RANK).Create_intercomm(0, WORLD, OTHER)
    with pytest.raises(TypeError, match="Merge"):
        mpi.check(between, GPU)


def an_mpi_that_works() -> None:
    """It gets the tensors, except for those with gaps."""
    comm = Takes(WORLD.Dup())
    result = mpi.check(comm, GPU)
    assert result, result
    assert str(result).count(" ok") == len(result.outcomes) == 28
    assert str(result).splitlines()[-1] == "MPI handles memory of the device"
    assert type(exchange_staged(comm, result)) is sx.Tensor
    t = on_gpu()
    with sx.staged(t, direct=result.takes(t)) as memory:
        assert memory.ptr == t.ptr
    with sx.staged(t[::2], direct=result.takes(t)) as memory:
        assert kind_of(memory) == "host"
    other_gpu = sx.zeros(3, device="level_zero:gpu:0")
    assert result.takes(other_gpu) is None  # nothing is known of that one


if __name__ == "__main__":
    for scene in (what_the_mpi_itself_says, an_mpi_that_would_crash):
        scene()
    mpi._try_apart = lambda _: ""  # it would crash, as above
    for scene in (
        an_mpi_that_corrupts,
        an_mpi_that_raises,
        one_rank_that_fails,
        other_communicators,
        an_mpi_that_works,
    ):
        scene()
    gc.collect()
    assert sx.memory.live_exports() == 0
    print(f"rank {RANK}: all is well", flush=True)
