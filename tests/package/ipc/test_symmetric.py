# SPDX-License-Identifier: Apache-2.0
"""Symmetric memory of several ranks.  Under mpiexec and torchrun: ``programs/processes``."""

import gc
import os
import pickle
import re
import signal
import time
from dataclasses import replace
from pathlib import Path
from threading import BrokenBarrierError

import numpy as np
import pytest

import environments
import sycl_ext as sx
from ranks import OTHER, WITH_MEMORY, Recorded, ended_well, other_ranks, shared_with
from sycl_ext._ipc import peers, symmetric

# ---- one memory ----------------------------------------------------------------------------------


def test_ranks_use_one_memory():
    """Each writes its block, then one element of each block."""
    code = f"""{WITH_MEMORY}
memory.mine.fill(10 * memory.rank)
memory.barrier()
for tensor in memory.tensors:
    tensor[memory.rank].fill(memory.rank)
memory.barrier()
print([tensor.tolist() for tensor in memory.tensors])
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
        for process in others:
            ended_well(process)
            assert process.stdout.read().strip() == str(expected)


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
    code = f"{OTHER}\nkept = [sx.ipc.symmetric(n, group=group, device='cpu') for n in (1, 2, 3)]"
    with other_ranks(code) as (group, (other,)):
        made = [sx.ipc.symmetric(n, group=group, device="cpu") for n in (1, 2, 3)]
        assert [memory.tensors[1].shape for memory in made] == [(1,), (2,), (3,)]
        ended_well(other)


def test_block_is_opened_on_the_device_of_its_reader(halves):
    code = f"{OTHER}\nmemory = sx.ipc.symmetric(4, 'int32', group, device='cpu')\nmemory.barrier()"
    with other_ranks(code) as (group, (other,)):
        memory = sx.ipc.symmetric(4, "int32", group, device=halves[1])
        assert all(tensor.device is halves[1] for tensor in memory.tensors)
        memory.barrier()
        ended_well(other)


def test_memory_and_its_barrier_have_no_name_that_could_stay():
    before = Path("/proc/self/maps").read_text().splitlines()
    memory = shared_with(Recorded())
    after = Path("/proc/self/maps").read_text().splitlines()
    files = [line.split(maxsplit=5)[5] for line in after if line not in before and "/" in line]
    assert files == ["/memfd:sycl_ext (deleted)"] * 2
    del memory


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


def test_memory_of_a_rank_that_has_dropped_it_stays():
    code = f"{WITH_MEMORY}\nmemory.mine.fill(7)\nmemory.barrier()\ndel memory\ninput()"
    with other_ranks(code) as (group, (other,)):
        memory = shared_with(group)
        memory.barrier()
        with pytest.raises(BrokenBarrierError, match=r"rank 1 .* has ended or dropped the symm"):
            memory.barrier()
        assert memory.tensors[1].tolist() == [7] * 4
        print(file=other.stdin, flush=True)
        ended_well(other)


@pytest.mark.parametrize(
    "end", ["os.kill(os.getpid(), signal.SIGKILL)", "os._exit(0)", "raise SystemExit", "1 / 0"]
)
def test_rank_that_ends_is_an_error_of_the_others(end):
    code = f"{WITH_MEMORY}\nmemory.barrier()\n{end}"
    waits = f"""{WITH_MEMORY}
memory.barrier()
try:
    memory.barrier()
except Exception as error:
    print(type(error).__name__, error)
"""
    with other_ranks(code, waits) as (group, (killed, other)):
        memory = shared_with(group)
        memory.barrier()
        words = rf"rank 1 \(process {killed.pid}\) has ended or dropped the symmetric memory"
        for _ in range(2):  # it stays an error
            with pytest.raises(BrokenBarrierError, match=words):
                memory.barrier()
        assert (
            "BrokenBarrierError rank 1" in other.stdout.read()
        )  # killed is not waited for: a zombie
        killed.wait(60)
        other.wait(60)


def test_rank_that_ends_before_it_has_memory_is_an_error_of_the_others():
    code = f"{OTHER}\ngroup.all_gather(b'here')\nos.kill(os.getpid(), signal.SIGKILL)"
    with other_ranks(code) as (group, _):
        assert group.all_gather(b"I too") == [b"I too", b"here"]
        with pytest.raises(BrokenBarrierError, match=r"rank 1 .* has ended or dropped the group"):
            shared_with(group)
        with pytest.raises(BrokenBarrierError, match="may be at different places; make a new one"):
            shared_with(group)


def test_rank_that_does_not_come_is_named_and_a_repeated_barrier_goes_on():
    code = f"{WITH_MEMORY}\ninput()\nmemory.barrier()\nmemory.barrier()"
    with other_ranks(code) as (group, (other,)):
        memory = shared_with(group)
        words = rf"rank 1 \(process {other.pid}\) did not come to the barrier .* within 0.1 s"
        for _ in range(2):
            with pytest.raises(TimeoutError, match=words):
                memory.barrier(timeout=0.1)
        print(file=other.stdin, flush=True)
        memory.barrier()  # the same as before
        memory.barrier()
        ended_well(other)


def test_rank_that_can_never_come_again_is_an_error_of_the_others():
    """It lives, but Ctrl-C has ended its `all_gather` between two barriers."""
    code = f"""{OTHER}
group.all_gather(b"")
try:
    group.all_gather(b"")
except Exception as error:
    print(type(error).__name__, error)
"""
    with other_ranks(code) as (group, (other,)):
        group.all_gather(b"")
        meet, calls = group._joined()._meet, []

        def interrupted(timeout):
            calls.append(timeout)
            if len(calls) == 2:
                raise KeyboardInterrupt
            meet(timeout)

        group._joined()._meet = interrupted
        with pytest.raises(KeyboardInterrupt):
            group.all_gather(b"")
        ended_well(other)
        words = "BrokenBarrierError rank 0 .* has had an error in an all_gather of the group, and"
        assert re.match(words, other.stdout.read())


def test_ctrl_c_in_a_step_of_one_rank_is_an_error_of_all(monkeypatch):
    """The ranks are at one place after that, and can call it again."""
    code = f"""{OTHER}
try:
    sx.ipc.symmetric(4, "int32", group, device="cpu")
except Exception as error:
    print(type(error).__name__, error)
{WITH_MEMORY.replace(OTHER, "")}
memory.barrier()
"""
    with other_ranks(code) as (group, (other,)):
        with monkeypatch.context() as patch:
            patch.setattr(symmetric.handles, "open", lambda *_, **__: signal.raise_signal(2))
            with pytest.raises(KeyboardInterrupt):
                shared_with(group)
        memory = shared_with(group)
        memory.barrier()
        ended_well(other)
        words = "BufferError rank 0 of 2 failed to share its memory: KeyboardInterrupt"
        assert other.stdout.read().startswith(words)


def test_rank_that_never_joined_is_named():
    first, second = sx.ipc.groups(2, timeout=0.1)
    with pytest.raises(TimeoutError, match=r"rank 1 \(not joined\) did not come"):
        first.all_gather(b"")
    # The first one will not come again, which the second one is told at once.
    with pytest.raises(BrokenBarrierError, match=r"rank 0 .* has had an error in an all_gather of"):
        second.all_gather(b"")


def test_ctrl_c_ends_a_wait_and_the_next_call_goes_on(monkeypatch):
    code = f"{WITH_MEMORY}\ninput()\nmemory.barrier()\nmemory.barrier()"
    with other_ranks(code) as (group, (other,)):
        memory = shared_with(group)
        with monkeypatch.context() as patch:
            patch.setattr(time, "sleep", lambda _: os.kill(os.getpid(), signal.SIGINT))
            with pytest.raises(KeyboardInterrupt):
                memory.barrier()
        print(file=other.stdin, flush=True)
        memory.barrier()
        memory.barrier()
        ended_well(other)


def test_forked_child_is_no_rank():
    shown = environments.python("""
import os, warnings
import sycl_ext as sx
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: a fork where threads are
memory = sx.ipc.symmetric(3, "uint8", sx.ipc.groups(1)[0], device="cpu")
if os.fork() == 0:
    try:
        memory.barrier()
    except Exception as error:
        print(type(error).__name__, error, flush=True)
    memory.mine.to_numpy()[:] = 9
    del memory
    os._exit(0)
assert os.wait()[1] == 0
memory.barrier()
print(memory._meeting._is_gone(0), memory.mine.tolist())
""")
    assert "BrokenBarrierError" in shown
    assert "start the ranks by 'spawn'" in shown
    assert shown.splitlines()[-1] == "False [9, 9, 9]"


# ---- errors of one rank are errors of all --------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        ("sx.ipc.symmetric(5, 'int32', group)", ValueError, "rank 1 asks for int32 of shape (5,)"),
        ("sx.ipc.symmetric(4, 'int8', group)", ValueError, "rank 1 asks for int8 of shape (4,)"),
        ("sx.ipc.symmetric(-1, 'int32', group)", BufferError, "rank 1 of 2 failed to share its"),
        ("sx.ipc.symmetric(1 << 61, 'int32', group)", BufferError, "MemoryError"),
        ("sx.ipc.symmetric(4, 'flaot', group)", BufferError, "TypeError"),
        ("sx.ipc.symmetric(4, 'int32', group, device='gpu:7')", BufferError, "gpu:7"),
    ],
)
def test_error_of_one_rank_is_an_error_of_all(call, kind, words):
    code = f"{OTHER}\ntry:\n    {call}\nexcept Exception as error:\n    print('refused')"
    with other_ranks(code) as (group, (other,)):
        with pytest.raises(kind) as refused:
            shared_with(group)
        assert words in str(refused.value)
        ended_well(other)
        assert other.stdout.read() == "refused\n"
    del refused  # its traceback has tensors


def test_rank_without_descriptors_is_an_error_of_all():
    code = f"""{OTHER}
import resource
sx.device()
group.all_gather(b"")
free = os.open(os.devnull, os.O_RDONLY)
os.close(free)
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (free + 3, hard))
try:
    sx.ipc.symmetric(4, "int32", group, device="cpu")
except OSError as error:
    print(error)
"""
    with other_ranks(code) as (group, (other,)):
        group.all_gather(b"")
        with pytest.raises(BufferError, match=r"rank 1 of 2 failed .*no file descriptor is left"):
            shared_with(group)
        ended_well(other)
        assert "ulimit -n" in other.stdout.read()


@pytest.mark.parametrize("free", range(5))
def test_lack_of_any_descriptor_names_the_limit(free):
    """Of the block and of the meeting, of two each, and of a look at the process."""
    code = f"""
import os, resource
import sycl_ext as sx
kept = sx.ipc.symmetric(4, "int32", sx.ipc.groups(1)[0], device="cpu")
(group,) = sx.ipc.groups(1)
group.all_gather(b"")
used = os.open(os.devnull, os.O_RDONLY)
os.close(used)
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (used + {free}, hard))
try:
    sx.ipc.symmetric(4, "int32", group, device="cpu")
except OSError as error:
    print(isinstance(error, BufferError), error)
"""
    shown = environments.python(code)
    assert shown.startswith("True ")
    assert "ulimit -n" in shown


def test_symmetric_memory_is_not_pickled():
    with pytest.raises(TypeError, match=r"send sycl_ext.ipc.handle\(memory.mine\)"):
        pickle.dumps(shared_with(Recorded()))


# ---- the kernel's permission ---------------------------------------------------------------------


def test_permission_of_the_kernel_ends_with_the_call(monkeypatch):
    """Device USM needs it; here the mechanism is only said to be that."""
    told = []
    monkeypatch.setattr(peers, "ptrace_scope", lambda: 1)
    monkeypatch.setattr(peers, "_set_ptracer", told.append)
    real = symmetric.handles.handle

    def handle(block):
        return replace(real(block), mechanism="sycl")

    monkeypatch.setattr(symmetric.handles, "handle", handle)
    memory = shared_with(Recorded())
    assert told == [os.getpid(), 0]
    assert np.asarray(memory.mine.to_numpy()).shape == (4,)
