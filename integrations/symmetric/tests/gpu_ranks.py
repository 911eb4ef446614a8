# SPDX-License-Identifier: Apache-2.0
"""Two ranks, each with a stand-in GPU, that use one memory."""

import multiprocessing

import numpy as np

import sycl_ext as sx
from sycl_ext_symmetric import groups, symmetric


def work(group):
    memory = symmetric((2, 3), "int32", group, device=f"level_zero:gpu:{group.rank}")
    memory.mine.copy_from(np.full((2, 3), 7 * group.rank, "int32"))
    memory.barrier()
    assert (memory.mechanism, memory.tensors[1].usm_type) == ("sycl", "device")
    assert [tensor.device.filter_string for tensor in memory.tensors] == [
        "level_zero:gpu:0",
        "level_zero:gpu:1",
    ]
    assert [tensor.tolist() for tensor in memory.tensors] == [[[0] * 3] * 2, [[7] * 3] * 2]
    memory.barrier()
    other = memory.tensors[1 - group.rank]
    other[1].copy_from(np.full(3, 8, "int32"), wait=False)  # waited for by the barrier
    memory.barrier()
    assert memory.mine.tolist()[1] == [8] * 3
    if group.rank == 0:  # the other one reads its tensor when this one has dropped everything
        del memory, other
        sx.memory.release_cached()
        kept = sx.ones((1 << 20,), device="level_zero:gpu:0")
    group.all_gather(b"")
    if group.rank == 1:
        assert other.tolist()[1] == [8] * 3
    group.all_gather(b"")
    if group.rank == 0:
        del kept


if __name__ == "__main__":
    spawn = multiprocessing.get_context("spawn")
    mine, theirs = groups(2, timeout=60)
    process = spawn.Process(target=work, args=(theirs,))
    process.start()
    del theirs
    work(mine)
    process.join()
    assert process.exitcode == 0
    print("all is well")
