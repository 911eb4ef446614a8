# SPDX-License-Identifier: Apache-2.0
"""Ranks send, receive, broadcast and reduce tensors: ``mpiexec -n 2 python run.py [device]``.

MPI gets memory that the host can access directly; other memory is staged. The code is the same for
both. Needs ``sycl_ext[cpu,mpi]`` and an MPI library; dpnp makes the data.
"""

import sys

import dpnp
import numpy as np
from mpi4py import MPI

import sycl_ext as sx

WORLD = MPI.COMM_WORLD
NEXT, PREVIOUS = (WORLD.rank + 1) % WORLD.size, (WORLD.rank - 1) % WORLD.size


def main(device: sx.Device, usm_type: str) -> None:
    """Send a tensor around, and sum tensors, in one kind of USM."""
    mine = sx.empty(1000, "float64", device=device, usm_type=usm_type)
    theirs, total = (sx.empty(1000, "float64", device=device, usm_type=usm_type) for _ in range(2))
    mine.copy_from(np.full(1000, WORLD.rank, "float64"))

    with sx.staged(mine, "r") as send, sx.staged(theirs, "w") as receive:
        WORLD.Sendrecv(send, NEXT, recvbuf=receive, source=PREVIOUS)
    assert (theirs.to_numpy() == PREVIOUS).all()

    with sx.staged(mine, "r") as send, sx.staged(total, "w") as receive:
        WORLD.Allreduce(send, receive)
    assert (total.to_numpy() == sum(range(WORLD.size))).all()

    if WORLD.rank == 0 and usm_type == "device" and device.device_type == "cpu":
        total = sx.from_dlpack(dpnp.arange(1000, dtype="float64"))
    with sx.staged(total, "rw") as buffer:
        WORLD.Bcast(buffer, root=0)
    if WORLD.rank == 0:
        print(device.filter_string, usm_type, "sum of the broadcast:", total.to_numpy().sum())


if __name__ == "__main__":
    for kind in ("device", "shared", "host"):
        main(sx.device(sys.argv[1] if len(sys.argv) > 1 else None), kind)
    # Only one rank prints, so that lines do not mix.
    for rank in WORLD.gather(WORLD.rank) or ():
        print(f"rank {rank} of {WORLD.size}: done")
