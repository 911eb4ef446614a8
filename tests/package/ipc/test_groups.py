# SPDX-License-Identifier: Apache-2.0
"""Groups of ranks: those of `groups`, of mpi4py, and any object with `all_gather`.

With real communicators: ``programs/processes``.
"""

import contextlib
import copy
import gc
import os
import pickle
import weakref
from threading import BrokenBarrierError

import pytest

import environments
import sycl_ext as sx
from ranks import OTHER, Recorded, ended_well, other_ranks, shared_with
from sycl_ext._ipc import groups as groups_module


@pytest.mark.parametrize("length", [0, 1, 4032, 4033, 100_000])
def test_group_gathers_bytes_of_any_length(length):
    code = f"{OTHER}\nfor n in (3, {length}):\n    print(group.all_gather(b'b' * n)[0] == b'a' * 5)"
    with other_ranks(code) as (group, (other,)):
        for n in (3, length):
            assert group.all_gather(b"aaaaa") == [b"aaaaa", b"b" * n]
        ended_well(other)
        assert other.stdout.read() == "True\nTrue\n"


@pytest.mark.parametrize("data", [5, "text", None, [1]])
def test_group_gathers_nothing_but_bytes(data):
    (alone,) = sx.ipc.groups(1)
    with pytest.raises(TypeError, match="it must be bytes"):
        alone.all_gather(data)
    assert alone.all_gather(bytearray(b"data")) == [b"data"]


def test_second_object_of_a_rank_is_refused():
    """It would begin with what the ranks told each other by the first one."""
    (alone,) = sx.ipc.groups(1)
    message = pickle.dumps(alone)
    first = pickle.loads(message)
    assert first.all_gather(b"first") == [b"first"]
    for second in (alone, pickle.loads(message)):
        with pytest.raises(ValueError, match=f"joined before, by .* process {os.getpid()}; keep"):
            second.all_gather(b"second")
    assert first.all_gather(b"third") == [b"third"]


def test_copy_of_a_rank_is_the_same_rank():
    (alone,) = sx.ipc.groups(1)
    assert alone.all_gather(b"first") == [b"first"]
    for copied in (copy.copy(alone), copy.deepcopy(alone)):
        assert copied.all_gather(b"second") == [b"second"]


@pytest.mark.parametrize(
    "fields", [(), ((1, 2, 3, 4), 2, 2, 1.0), ((1, 2, 3), 0, 1, 1.0), (5, 0, 1, 1.0)]
)
def test_pickle_of_another_version_is_refused(fields):
    (alone,) = sx.ipc.groups(1)
    read, _ = alone.__reduce__()
    alone.all_gather(b"")  # it is sent no more
    with pytest.raises(ValueError, match=r"not a pickle of a sycl_ext.ipc.Group: .*; use one ver"):
        read(*fields)


def test_dropped_group_waits_for_ranks_that_have_not_joined(open_files):
    """As of `multiprocessing`, which drops the arguments of a process that it has started."""
    before = open_files()
    message = pickle.dumps(sx.ipc.groups(1)[0])
    assert open_files() > before
    sx.ipc.groups(1)  # nobody has sent its rank
    (joined,) = sx.ipc.groups(1)
    assert pickle.loads(message).all_gather(b"x") == [b"x"]
    joined.all_gather(b"")
    del joined
    assert open_files() == before


def test_group_of_a_process_that_has_ended_is_refused():
    code = "import pickle, sycl_ext as sx\nprint(pickle.dumps(sx.ipc.groups(2)[1]).hex())"
    group = pickle.loads(bytes.fromhex(environments.python(code).split()[-1]))
    with pytest.raises(BufferError, match="there is no such process here; it has ended"):
        group.all_gather(b"")


def test_any_object_with_all_gather_is_a_group():
    memory = shared_with(Recorded())
    memory.barrier()
    assert repr(memory).startswith("SymmetricMemory(rank=0, size=1, shape=(4,), dtype=int32, ")


class Comm:
    """A communicator of mpi4py whose other rank never comes."""

    __module__ = "mpi4py.MPI"
    rank, size, inter, come = 0, 2, False, False

    def __init__(self):
        self.buffers = []

    def Get_rank(self):  # noqa: N802
        return self.rank

    def Get_size(self):  # noqa: N802
        return self.size

    def Is_inter(self):  # noqa: N802
        return self.inter

    def Iallgather(self, mine, all_):  # noqa: N802
        all_[:] = 0
        self.buffers += [weakref.ref(mine), weakref.ref(all_)]
        return self

    def Test(self):  # noqa: N802
        if self.come is None:
            raise KeyboardInterrupt
        return self.come


@pytest.mark.parametrize(
    ("come", "error", "words"),
    [
        (False, TimeoutError, r"did not come to Iallgather of MPI within 0.1 s"),
        (None, KeyboardInterrupt, None),
        (True, None, None),
    ],
)
def test_mpi_may_write_to_its_buffers_after_an_error(come, error, words, monkeypatch):
    monkeypatch.setattr(Comm, "come", come)
    comm = Comm()
    group = groups_module.as_group(comm, 0.1)
    with pytest.raises(error, match=words) if error else contextlib.nullcontext():
        group.all_gather(b"")
    gc.collect()
    kept = [buffer() is not None for buffer in comm.buffers]
    assert kept == ([True] * 2 if error else [False] * 4)


def test_communicator_is_not_used_after_an_error():
    """The next call would gather what the others gave in the first one."""
    comm = Comm()
    with pytest.raises(TimeoutError):
        shared_with(comm, timeout=0.1)
    with pytest.raises(BrokenBarrierError, match="may be at different places; pass one that Dup"):
        shared_with(comm, timeout=0.1)


def test_wrong_groups_are_refused(monkeypatch):
    for group in (None, 3, [0, 1]):
        with pytest.raises(
            TypeError, match=r"it must be a communicator of mpi4py, a process group"
        ):
            shared_with(group)
    monkeypatch.setattr(Comm, "inter", True)
    with pytest.raises(TypeError, match="Merge"):
        shared_with(Comm())
    monkeypatch.setattr(Recorded, "rank", 1)
    with pytest.raises(ValueError, match="group has rank 1 of 1"):
        shared_with(Recorded())


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), "soon", True, None])
def test_wrong_timeouts_are_refused(timeout):
    for call in (
        lambda: sx.ipc.groups(1, timeout=timeout),
        lambda: shared_with(Recorded(), timeout=timeout),
        *([] if timeout is None else [lambda: shared_with(Recorded()).barrier(timeout)]),
    ):
        with pytest.raises(ValueError, match="must be a positive number of seconds"):
            call()
