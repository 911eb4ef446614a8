# SPDX-License-Identifier: Apache-2.0
"""Requests of two ranks over staged memory: ``mpiexec -n 2 python mpi_requests.py``.

The GPU is a stand-in whose memory the host cannot touch.
"""

import gc

import numpy as np
from mpi4py import MPI

import sycl_ext as sx
from sycl_ext._exchange import staging

WORLD = MPI.COMM_WORLD
RANK, OTHER = WORLD.rank, 1 - WORLD.rank
GPU = sx.device("level_zero:gpu:1")
NUMBERS = np.arange(1000.0)


def on_gpu(value: float = 0.0) -> sx.Tensor:
    return sx.empty(1000, "float64", device=GPU).copy_from(NUMBERS + value)


def requests() -> None:
    """Received when wait() or test() says so, from memory that nobody else has to keep."""
    for kind in ("device", "shared", "host"):
        mine = sx.empty(1000, "float64", usm_type=kind, device=GPU).copy_from(NUMBERS + RANK)
        theirs = sx.zeros(1000, "float64", usm_type=kind, device=GPU)
        receiving = sx.mpi.staged_request(theirs, "w", lambda memory: WORLD.Irecv(memory, OTHER))
        assert not receiving.test()  # nobody sends before the barrier
        WORLD.Barrier()
        sending = sx.mpi.staged_request(mine, "r", lambda memory: WORLD.Isend(memory, OTHER))
        while not receiving.test():
            pass
        for request in (sending, receiving):
            request.wait()
            assert request.test()
        assert np.array_equal(theirs.to_numpy(), NUMBERS + OTHER)


def a_request_that_nobody_keeps() -> None:
    """MPI writes into its memory all the same."""
    theirs = on_gpu(-1)
    sx.mpi.staged_request(theirs, "w", lambda memory: WORLD.Irecv(memory, OTHER))
    gc.collect()
    WORLD.Barrier()
    with sx.staged(on_gpu(RANK), "r") as memory:
        WORLD.Send(memory, OTHER)
    (kept,) = staging.pending_requests
    kept.wait()
    assert np.array_equal(theirs.to_numpy(), NUMBERS + OTHER)
    assert not staging.pending_requests


if __name__ == "__main__":
    requests()
    a_request_that_nobody_keeps()
    gc.collect()
    assert sx.memory.live_exports() == 0
    print(f"rank {RANK}: all is well", flush=True)
