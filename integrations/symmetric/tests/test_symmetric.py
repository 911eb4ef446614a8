# SPDX-License-Identifier: Apache-2.0
"""Symmetric memory of several ranks.  Under mpiexec and torchrun: ``tests/programs/processes``."""

import doctest
import gc
import importlib
import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
from threading import BrokenBarrierError

import pytest

import environments
import sycl_ext as sx
from ranks import WITH_MEMORY, Recorded, ended_well, other_ranks, shared_with
from samples import halves
from sycl_ext_symmetric import memory as module
from sycl_ext_symmetric import symmetric

# ---- one memory ----------------------------------------------------------------------------------


def test_ranks_use_one_memory():
    """Each writes its block, then one element of each block."""
    code = f"""{WITH_MEMORY}
memory.mine.fill(10 * memory.rank)
memory.barrier()
for tensor in memory.tensors:
    tensor[memory.rank].fill(memory.rank)
memory.barrier()
pipe.send([tensor.tolist() for tensor in memory.tensors])
memory.barrier()
"""
    with other_ranks(code, code) as (group, others):
        memory = shared_with(group)
        assert (memory.rank, memory.size, memory.mechanism) == (0, 3, "shared memory")
        assert memory.mine is memory.tensors[0]
        memory.mine.fill(-1)
        memory.barrier()
        assert [tensor.tolist()[3] for tensor in memory.tensors] == [-1, 10, 20]
        for tensor in memory.tensors:
            tensor[0].fill(0)
        memory.barrier()
        expected = [[0, 1, 2, n] for n in (-1, 10, 20)]
        assert [tensor.tolist() for tensor in memory.tensors] == expected
        memory.barrier()
        for other in others:
            ended_well(other)
            assert other.pipe.recv() == expected


def test_barrier_holds_a_rank_until_all_have_come():
    """A thousand rounds, in which a rank that is let through early reads an old number."""
    code = f"""{WITH_MEMORY}
for n in range(1000):
    memory.mine[0].fill(n)
    memory.barrier()
    assert [int(t[0]) for t in memory.tensors] == [n] * memory.size, n
    memory.barrier()
"""
    with other_ranks(code) as (group, (other,)):
        memory = shared_with(group)
        for n in range(1000):
            memory.mine[0].fill(n)
            memory.barrier()
            assert [int(t[0]) for t in memory.tensors] == [n, n]
            memory.barrier()
        ended_well(other)


def test_one_group_makes_memory_several_times():
    code = "kept = [symmetric(n, group=group, device='cpu') for n in (1, 2, 3)]"
    with other_ranks(code) as (group, (other,)):
        made = [symmetric(n, group=group, device="cpu") for n in (1, 2, 3)]
        assert [memory.tensors[1].shape for memory in made] == [(1,), (2,), (3,)]
        ended_well(other)


def test_block_is_opened_on_the_device_of_its_reader():
    half = halves()[1]
    with other_ranks(f"{WITH_MEMORY}\nmemory.barrier()") as (group, (other,)):
        memory = symmetric(4, "int32", group, device=half)
        assert all(tensor.device is half for tensor in memory.tensors)
        memory.barrier()
        ended_well(other)


def test_ranks_use_one_memory_on_two_gpus():
    """Stand-ins, whose device USM has inter-process handles."""
    done = subprocess.run(
        [sys.executable, "-W", "error", Path(__file__).with_name("gpu_ranks.py")],
        env={**environments.clean_environment(), **environments.level_zero()},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "all is well\n"), done.stderr


# ---- the end -------------------------------------------------------------------------------------


def test_tensors_outlive_everything_else():
    """The object, the group, and the process that has allocated the block."""
    code = f"{WITH_MEMORY}\nmemory.mine.fill(7)\nmemory.barrier()\nos._exit(0)"
    with other_ranks(code) as (group, (other,)):
        memory = shared_with(group)
        memory.barrier()
        theirs, mine = memory.tensors[1], memory.mine
        ended_well(other)
        del memory, group
        gc.collect()
        assert theirs.tolist() == [7] * 4
        theirs.fill(8)
        mine.fill(9)
        assert (theirs.tolist(), mine.tolist()) == ([8] * 4, [9] * 4)


@pytest.mark.parametrize("end", ["os.kill(os.getpid(), signal.SIGKILL)", "os._exit(0)"])
def test_rank_that_ends_is_an_error_at_the_next_barrier(end):
    with other_ranks(f"{WITH_MEMORY}\nmemory.barrier()\n{end}") as (group, _):
        memory = shared_with(group)
        memory.barrier()
        with pytest.raises(BrokenBarrierError, match="rank 1 of 2 has ended"):
            memory.barrier()


# ---- errors of one rank are errors of all --------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        ("symmetric(5, 'int32', group)", ValueError, "rank 1 asks for int32 of shape (5,)"),
        ("symmetric(4, 'int8', group)", ValueError, "rank 1 asks for int8 of shape (4,)"),
        ("symmetric(-1, 'int32', group)", BufferError, "rank 1 of 2 failed to share its"),
        ("symmetric(1 << 61, 'int32', group)", BufferError, "MemoryError"),
        ("symmetric(4, 'flaot', group)", BufferError, "TypeError"),
        ("symmetric(4, 'int32', group, device='gpu:7')", BufferError, "gpu:7"),
    ],
)
def test_error_of_one_rank_is_an_error_of_all(call, kind, words):
    code = f"try:\n    {call}\nexcept Exception as error:\n    pipe.send('refused')"
    with other_ranks(code) as (group, (other,)):
        with pytest.raises(kind) as refused:
            shared_with(group)
        assert words in str(refused.value)
        assert other.pipe.recv() == "refused"
    del refused  # its traceback has tensors


def test_ctrl_c_in_a_step_of_one_rank_is_an_error_of_all(monkeypatch):
    """The ranks are at one place after that, and can call it again."""
    code = f"""
try:
    symmetric(4, "int32", group, device="cpu")
except Exception as error:
    pipe.send(f"{{type(error).__name__}} {{error}}")
{WITH_MEMORY}
memory.barrier()
"""
    with other_ranks(code) as (group, (other,)):
        with monkeypatch.context() as patch:
            patch.setattr(module, "_open", lambda *_: signal.raise_signal(signal.SIGINT))
            with pytest.raises(KeyboardInterrupt):
                shared_with(group)
        memory = shared_with(group)
        memory.barrier()
        words = "BufferError rank 0 of 2 failed to share its memory: KeyboardInterrupt"
        assert other.pipe.recv().startswith(words)


def test_symmetric_memory_is_not_pickled():
    with pytest.raises(TypeError, match=r"send sycl_ext.ipc.handle\(memory.mine\)"):
        pickle.dumps(shared_with(Recorded()))


# ---- the kernel's permission ---------------------------------------------------------------------


@pytest.mark.parametrize(("ancestor", "peers"), [(77, [None, 77]), (0, [None])])
def test_descendants_of_the_launcher_may_open_the_memory(monkeypatch, ancestor, peers):
    """Where there is one: ``docker exec`` starts ranks whose parent is outside the container."""
    asked = []

    class Handle:
        mechanism = "sycl"

    def handle(_block, peer=None):
        asked.append(peer)
        return Handle()

    monkeypatch.setattr(module, "common_ancestor", lambda _: ancestor)
    monkeypatch.setattr(sx.ipc, "handle", handle)
    module._handle(None, [os.getpid()])
    assert asked == peers


@pytest.mark.parametrize("name", ["groups", "memory"])
def test_examples_in_docstrings(name):
    result = doctest.testmod(importlib.import_module(f"sycl_ext_symmetric.{name}"))
    assert (result.failed, result.attempted > 0) == (0, True)
