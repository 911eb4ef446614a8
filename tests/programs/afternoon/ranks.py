# SPDX-License-Identifier: Apache-2.0
"""Two ranks exchange tensors: ``mpiexec -n 2 python ranks.py``."""

import numpy as np
from mpi4py import MPI

import sycl_ext as sx

world = MPI.COMM_WORLD
assert world.size == 2

mine = sx.empty(4, "float64", usm_type="shared").copy_from(np.full(4, world.rank + 1.0))
world.Allreduce(MPI.IN_PLACE, mine)
assert mine.to_numpy().tolist() == [3.0] * 4

host = sx.zeros(4, "int32", usm_type="host")
if world.rank == 0:
    host.copy_from(np.arange(4, dtype="int32"))
world.Bcast(host)
assert host.to_numpy().tolist() == [0, 1, 2, 3]

# Memory of any device goes through host memory where it must.
with sx.staged(mine, "w") as memory:
    world.Bcast(memory)
