# SPDX-License-Identifier: Apache-2.0
"""Two ranks send tensors to each other: ``mpiexec -n 2 python mpi_ranks.py``"""

from __future__ import annotations

import gc
from typing import Any

import dpnp
import numpy as np
from mpi4py import MPI

import sycl_ext as sx

WORLD = MPI.COMM_WORLD
RANK, OTHER = WORLD.rank, 1 - WORLD.rank
VALUES = np.arange(1000, dtype=np.float64)
KINDS = ("device", "shared", "host")


class OnlyDLPack:
    """A tensor without the buffer protocol, which mpi4py would prefer."""

    def __init__(self, tensor: sx.Tensor) -> None:
        self.tensor = tensor
        self.streams: list[Any] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> Any:
        self.streams.append(keywords.get("stream"))
        return self.tensor.__dlpack__(**keywords)


#: The arguments of mpi4py.
FORMS = {"itself": lambda t: t, "DLPack": OnlyDLPack, "host_view": sx.host_view}


def filled(kind: str, value: float) -> sx.Tensor:
    return sx.empty(VALUES.shape, VALUES.dtype, usm_type=kind, device="opencl:cpu").copy_from(
        VALUES + value
    )


def check(tensor: sx.Tensor, value: float) -> None:
    assert np.array_equal(tensor.to_numpy(), VALUES + value)


def send_and_receive(form: Any, kind: str) -> None:
    mine, theirs = filled(kind, RANK), filled(kind, -1)
    if RANK == 0:
        WORLD.Send(form(mine), dest=1)
        WORLD.Recv(form(theirs), source=1)
    else:
        WORLD.Recv(form(theirs), source=0)
        WORLD.Send(form(mine), dest=0)
    check(theirs, OTHER)


def requests(form: Any, kind: str) -> None:
    mine, theirs = filled(kind, RANK), filled(kind, -1)
    pending = [WORLD.Isend(form(mine), OTHER), WORLD.Irecv(form(theirs), OTHER)]
    MPI.Request.Waitall(pending)
    del pending
    check(theirs, OTHER)


def broadcast(form: Any, kind: str) -> None:
    tensor = filled(kind, 7 if RANK == 0 else -1)
    WORLD.Bcast(form(tensor), root=0)
    check(tensor, 7)


def allreduce(form: Any, kind: str) -> None:
    mine, total = filled(kind, RANK), filled(kind, -1)
    WORLD.Allreduce(form(mine), form(total))
    assert np.array_equal(total.to_numpy(), 2 * VALUES + 1)


def raises(call: Any, *errors: type[Exception]) -> None:
    try:
        call()
    except errors:
        return
    raise AssertionError("no error")


def stream() -> None:
    """mpi4py asks for no synchronisation, and says so with -1."""
    wrapped = OnlyDLPack(filled("device", 0))
    WORLD.Bcast(wrapped, root=0)
    assert wrapped.streams == [-1]


def readonly_memory() -> None:
    """It can be sent; it cannot be received into."""
    readonly = filled("shared", RANK).as_readonly()
    target = filled("shared", -1)
    WORLD.Sendrecv(readonly, OTHER, recvbuf=target, source=OTHER)
    check(target, OTHER)
    for form in FORMS.values():
        raises(lambda form=form: WORLD.Recv(form(readonly), OTHER), BufferError)


def strided_memory() -> None:
    """A view that is not contiguous has to be copied first."""
    for form in (FORMS["itself"], FORMS["DLPack"]):
        raises(lambda form=form: WORLD.Send(form(filled("shared", 0)[::2]), OTHER), BufferError)


def memory_of_a_gpu() -> None:
    """Memory that the host cannot access goes through a host view, and back by copy_from."""
    gpu = sx.empty(VALUES.shape, VALUES.dtype, device="level_zero:gpu:0").copy_from(VALUES + RANK)
    landing = np.empty_like(VALUES)
    WORLD.Sendrecv(sx.host_view(gpu), OTHER, recvbuf=landing, source=OTHER)
    check(gpu.copy_from(landing), OTHER)


def dpnp_arrays() -> None:
    """dpnp 0.20 refuses the -1 of mpi4py; as tensors its arrays can be sent."""
    array = dpnp.asarray(VALUES + RANK, device="cpu")
    raises(lambda: WORLD.Bcast(array, root=0), TypeError, BufferError)
    tensor = sx.as_tensor(array)
    WORLD.Bcast(tensor, root=0)
    assert np.array_equal(array.asnumpy(), VALUES)


def main() -> None:
    for form in FORMS.values():
        for kind in KINDS:
            for exchange in (send_and_receive, requests, broadcast, allreduce):
                exchange(form, kind)
    for special in (stream, readonly_memory, strided_memory, memory_of_a_gpu, dpnp_arrays):
        special()
    gc.collect()
    assert sx.memory.live_exports() == 0
    print(f"rank {RANK}: all is well", flush=True)


if __name__ == "__main__":
    main()
