# SPDX-License-Identifier: Apache-2.0
"""Symmetric memory in device USM of GPUs, one for each rank."""

import pickle
import signal
import subprocess
import sys
from threading import BrokenBarrierError

import numpy as np
import pytest

import sycl_ext as sx

RANK = """
import os, pickle, signal, sys
import numpy as np
import sycl_ext as sx
group = pickle.loads(bytes.fromhex(sys.argv[1]))
memory = sx.ipc.symmetric((2, 3), "int32", group, device="level_zero:gpu:1", timeout=60)
memory.mine.copy_from(np.full((2, 3), 7, "int32"))
memory.barrier()
memory.tensors[0][1].copy_from(np.full(3, 8, "int32"), wait=False)  # waited for by the barrier
memory.barrier()
"""


@pytest.fixture
def rank_1(with_ipc):
    """Start rank 1 with more code, and return the group of rank 0."""
    started = []

    def start(code=""):
        mine, theirs = sx.ipc.groups(2, timeout=60)
        command = [sys.executable, "-c", RANK + code, pickle.dumps(theirs).hex()]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        started.append(subprocess.Popen(command, text=True, **pipes))
        return mine, started[0]

    yield start
    for process in started:
        process.communicate(timeout=60)
    sx.memory.release_cached()


def test_ranks_use_one_memory_on_two_gpus(gpus, rank_1):
    group, other = rank_1("print(memory, memory.tensors[0].tolist())")
    memory = sx.ipc.symmetric((2, 3), "int32", group, device=gpus[0], timeout=60)
    memory.mine.copy_from(np.zeros((2, 3), "int32"))
    memory.barrier()
    assert (memory.mechanism, memory.tensors[1].usm_type) == ("sycl", "device")
    assert [tensor.device for tensor in memory.tensors] == [gpus[0], gpus[1]]
    assert memory.tensors[1].tolist() == [[7] * 3] * 2
    memory.barrier()
    assert memory.mine.tolist() == [[0] * 3, [8] * 3]
    shown, _ = other.communicate(timeout=60)
    assert shown.startswith("SymmetricMemory(rank=1, size=2, shape=(2, 3), dtype=int32, mechanism=")


def test_killed_rank_is_an_error(gpus, rank_1):
    group, other = rank_1("os.kill(os.getpid(), signal.SIGKILL)")
    memory = sx.ipc.symmetric((2, 3), "int32", group, device=gpus[0], timeout=60)
    memory.barrier()
    memory.barrier()
    with pytest.raises(BrokenBarrierError, match="rank 1 .* has ended or dropped"):
        memory.barrier()
    assert other.wait(60) == -signal.SIGKILL
    assert memory.mine[1].tolist() == [8] * 3


def test_memory_stays_until_each_rank_has_dropped_it(gpus, rank_1):
    """The other rank reads its tensor when this one has dropped everything."""
    group, other = rank_1("memory.barrier(); input(); print(memory.tensors[0][1].tolist())")
    memory = sx.ipc.symmetric((2, 3), "int32", group, device=gpus[0], timeout=60)
    for _ in range(3):
        memory.barrier()
    del memory, group
    sx.memory.release_cached()
    kept = sx.empty((2, 3), "int32", device=gpus[0]).copy_from(np.ones((2, 3), "int32"))
    shown, _ = other.communicate("\n", timeout=60)
    assert shown.splitlines() == ["[8, 8, 8]"]
    del kept
