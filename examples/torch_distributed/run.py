# SPDX-License-Identifier: Apache-2.0
"""Let torch.distributed reduce and broadcast USM between two processes: ``python run.py``.

The tensors are host-accessible USM, and `exchange` gives torch views of them, so gloo sends from
USM and receives into it without a copy. Needs ``sycl_ext[cpu]`` and torch.
"""

import tempfile
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist

import sycl_ext as sx

WORLD, SIZE = 2, 1 << 20


def main(rank: int, store: str) -> None:
    """Run one of the processes."""
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=WORLD)
    for usm_type in ("shared", "host"):
        tensor = sx.empty(SIZE, "float32", usm_type=usm_type)
        tensor.copy_from(np.full(SIZE, rank + 1, "float32"))
        view = sx.exchange(tensor, torch)
        assert view.data_ptr() == tensor.ptr

        dist.all_reduce(view)
        assert (tensor.to_numpy() == 3).all()  # the tensor itself was reduced

        tensor.copy_from(np.full(SIZE, 7 if rank == 0 else 0, "float32"))
        dist.broadcast(view, src=0)
        assert (tensor.to_numpy() == 7).all()
        if rank == 0:
            print(f"{usm_type} USM of {WORLD} processes: reduced and broadcast in place")
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        store = str(Path(folder) / "store")
        torch.multiprocessing.spawn(main, args=(store,), nprocs=WORLD)
