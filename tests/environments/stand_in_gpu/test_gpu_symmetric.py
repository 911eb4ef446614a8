# SPDX-License-Identifier: Apache-2.0
"""Symmetric memory in device USM of GPUs, one for each rank."""

import os
import pickle
import signal
import subprocess
import sys
from pathlib import Path
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


def test_killed_rank_is_an_error(gpus, rank_1, monkeypatch):
    """Without events, because its death would also end the work that signals its last event."""
    monkeypatch.delenv("SYCL_EXT_IPC_EVENTS", raising=False)
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


# ---- order by events -----------------------------------------------------------------------------


def test_barrier_leaves_the_wait_to_the_queues(gpus, with_events, adapter, rank_1):
    group, other = rank_1(
        f"""
sys.path.insert(0, {str(environments.HERE)!r})
from level_zero import control
new = sx.empty((2, 3), "int32", device=memory.mine.device).copy_from(np.full((2, 3), 5, "int32"))
control.loaded().fakegpu_set_delay_us(20_000_000)
memory.mine.copy_from(new, wait=False)
memory.barrier()
print("came", flush=True)
input()
control.loaded().fakegpu_set_delay_us(0)
memory.barrier()
"""
    )
    memory = sx.ipc.symmetric((2, 3), "int32", group, device=gpus[0], timeout=60)
    assert memory.has_events
    for _ in range(3):
        memory.barrier()
    assert other.stdout.readline() == "came\n"
    seen = sx.empty((2, 3), "int32", device=gpus[1])
    before = adapter.fakegpu_copies()
    seen.copy_from(memory.tensors[1], wait=False)
    assert adapter.fakegpu_copies() == before
    print(file=other.stdin, flush=True)
    memory.barrier()
    assert seen.tolist() == [[5] * 3] * 2


def test_barrier_waits_for_tensors_that_other_code_has(gpu, with_events, adapter, hold):
    (alone,) = sx.ipc.groups(1)
    memory = sx.ipc.symmetric(3, "int32", alone, device=gpu)
    new = sx.ones(3, "int32", device=gpu)
    with hold() as held:
        before = adapter.fakegpu_copies()
        memory.mine.copy_from(new, wait=False)
        memory.barrier()
        assert adapter.fakegpu_copies() == before
        held.release()
    memory.mine.wait()  # until the copy is counted
    taken = memory.mine.__dlpack__(stream=-1)
    adapter.fakegpu_set_delay_us(50_000)
    before = adapter.fakegpu_copies()
    memory.mine.copy_from(new, wait=False)
    memory.barrier()
    assert adapter.fakegpu_copies() == before + 1
    del taken


def test_rank_may_leave_after_a_barrier(gpus, with_events, adapter, rank_1):
    """Its event is opened by then, so what it has written is read here."""
    group, other = rank_1("""
memory.mine.copy_from(np.full((2, 3), 5, "int32"), wait=False)
memory.barrier()
""")
    memory = sx.ipc.symmetric((2, 3), "int32", group, device=gpus[0], timeout=60)
    for _ in range(3):
        memory.barrier()
    assert other.wait(60) == 0
    assert memory.tensors[1].tolist() == [[5] * 3] * 2


#: Work of rank 1 that does not end.
HELD = f"""
sys.path.insert(0, {str(environments.HERE)!r})
from level_zero import control
new = sx.empty((2, 3), "int32", device=memory.mine.device).copy_from(np.full((2, 3), 5, "int32"))
control.loaded().fakegpu_set_delay_us(20_000_000)
memory.mine.copy_from(new, wait=False)
"""


#: Rank 0, a process of its own, because the work that it waits for is pending until it ends.
SURVIVES = """
import pickle, sys
from threading import BrokenBarrierError
import sycl_ext as sx
group = pickle.loads(bytes.fromhex(sys.argv[1]))
memory = sx.ipc.symmetric((2, 3), "int32", group, device="level_zero:gpu:0", timeout=60)
def told(wait):
    try:
        return wait()
    except (sx.SyclError, BrokenBarrierError) as error:
        return f"{type(error).__name__} {error}"
memory.barrier()
memory.barrier()
"""


@pytest.fixture
def killed(with_events):
    """Run rank 1, which kills itself, and rank 0; return the id of the one, and what 0 prints."""
    started = []

    def run(code, survivor):
        for group, script in zip(
            sx.ipc.groups(2, timeout=60), (SURVIVES + survivor, RANK + HELD + code), strict=True
        ):
            command = [sys.executable, "-c", script, pickle.dumps(group).hex()]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            started.append(subprocess.Popen(command, text=True, **pipes))
        mine, other = started
        assert other.wait(60) == -signal.SIGKILL
        shown, _ = mine.communicate("\n", timeout=60)
        assert mine.returncode == 0
        return other.pid, shown.splitlines()

    yield run
    for process in started:
        process.kill()
        process.communicate()


def test_rank_that_is_killed_after_a_barrier_takes_its_work_along(killed):
    process, shown = killed(
        "memory.barrier(); os.kill(os.getpid(), signal.SIGKILL)",
        """
memory.barrier()
input()
for wait in (memory.tensors[1].tolist, memory.mine.tolist, memory.barrier):
    print(told(wait))
print(sx.ones(3, "int32", device=memory.mine.device).tolist())
""",
    )
    for line in shown[:3]:
        assert line.startswith(f"SyclError process {process} has ended")
    assert shown[3:] == ["[1, 1, 1]"]


def test_rank_that_is_killed_before_its_event_is_opened_is_an_error(killed):
    process, shown = killed(
        """
memory._meeting.told = lambda: os.kill(os.getpid(), signal.SIGKILL)
memory.barrier()
""",
        """
read = memory._meeting.told
def read_later():
    input()
    memory._meeting.told = read
    return read()
memory._meeting.told = read_later
print(told(memory.barrier))
print(told(memory.barrier))
""",
    )
    assert shown[0].startswith(f"SyclError process {process} has ended before")
    assert shown[1] == shown[0]


def test_barriers_leave_no_event_open(gpus, with_events, adapter, rank_1):
    repeated = """
for _ in range(100):
    memory.mine.copy_from(memory.mine.copy(), wait=False)
    memory.barrier()
"""
    group, other = rank_1(repeated)
    memory = sx.ipc.symmetric((2, 3), "int32", group, device=gpus[0], timeout=60)
    memory.barrier()
    memory.barrier()
    before = len(list(Path("/proc/self/fd").iterdir()))
    exec(repeated)
    assert other.wait(60) == 0
    memory.mine.wait()
    assert adapter.fakegpu_opened_events() < 10
    assert len(list(Path("/proc/self/fd").iterdir())) < before + 30


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
