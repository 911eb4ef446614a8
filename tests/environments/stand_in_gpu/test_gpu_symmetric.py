# SPDX-License-Identifier: Apache-2.0
"""Symmetric memory in device USM of GPUs, one for each rank."""

import os
import pickle
import signal
import subprocess
import sys
from threading import BrokenBarrierError

import numpy as np
import pytest

import environments
import sycl_ext as sx
from sycl_ext._ipc import peers, symmetric

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


def test_ranks_without_a_common_ancestor_ask_for_no_permission(gpus, with_ipc, monkeypatch):
    """As those that ``docker exec`` has started, whose parent is outside of the container."""
    monkeypatch.setattr(symmetric, "common_ancestor", lambda _: 0)
    memory = sx.ipc.symmetric(3, "int32", sx.ipc.groups(1)[0], device=gpus[0])
    assert memory.mechanism == "sycl"


# ---- packed for another process ------------------------------------------------------------------


def test_device_usm_is_packed_as_a_handle(gpus, with_ipc):
    t = sx.ones(3, device=gpus[0])
    packed = sx.ipc.pack(t)
    assert (packed.how, packed.reason) == ("handle", "")
    packed.open().fill(2)
    assert t.tolist() == [2.0] * 3


def test_memory_of_the_host_is_packed_and_has_no_handle(gpus):
    """Although no GPU can use it in place."""
    array = np.array([[1, 2, 3], [4, 5, 6]])[:, ::2]
    packed = sx.ipc.pack(array)
    assert packed.how == "shared memory"
    assert packed.open().tolist() == [[1, 3], [4, 6]]
    with pytest.raises(BufferError, match=r"can share; copy it: (.*)") as refused:
        sx.ipc.handle(array)
    advice = refused.value.args[0].partition("copy it: ")[2]
    copied = eval(advice, {"sx": sx, "t": array})
    assert sx.ipc.open(sx.ipc.handle(copied)).tolist() == [[1, 3], [4, 6]]


@pytest.mark.parametrize(
    ("scope", "peer", "how"),
    [
        (0, False, "handle"),
        (1, False, "shared memory"),
        (1, True, "handle"),
        (2, True, "shared memory"),
    ],
)
def test_device_usm_is_copied_where_the_kernel_would_refuse(
    gpus, with_ipc, monkeypatch, scope, peer, how
):
    monkeypatch.setattr(peers, "ptrace_scope", lambda: scope)
    monkeypatch.setattr(peers, "_set_ptracer", lambda _: None)
    packed = sx.ipc.pack(sx.ones(3, device=gpus[0]), peer=os.getpid() if peer else None)
    assert packed.how == how
    assert (f"ptrace_scope is {scope}" in packed.reason) == (how != "handle")
    assert (packed.open().device, packed.open().usm_type) == (gpus[0], "device")


def test_device_usm_is_copied_where_a_filter_forbids_descriptors(gpus, with_ipc):
    shown = environments.python(
        """
from test_peers import REFUSE; exec(REFUSE)
import sycl_ext as sx
t = sx.ones(3, device="level_zero:gpu:0")
print(sx.ipc.pack(t).how)
refuse(1)
packed = sx.ipc.pack(t)
print(packed.how, packed.reason, packed.open().tolist())
""",
        inherit=True,
        near=environments.TESTS / "package" / "ipc" / "test_peers.py",
    )
    assert shown.splitlines() == [
        "handle",
        "shared memory this process may not call pidfd_getfd (EPERM) [1.0, 1.0, 1.0]",
    ]
