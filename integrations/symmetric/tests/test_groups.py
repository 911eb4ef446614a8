# SPDX-License-Identifier: Apache-2.0
"""Groups of ranks: pipes, stores, a communicator of mpi4py, and any object with `all_gather`.

With real communicators: ``tests/programs/processes``.
"""

import contextlib
import gc
import signal
import threading
import weakref
from importlib.util import find_spec
from threading import BrokenBarrierError

import pytest

from ranks import Recorded, other_ranks, shared_with
from sycl_ext_symmetric import StoreGroup, groups
from sycl_ext_symmetric.groups import as_group

# ---- pipes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [0, 1, 100_000])
def test_ranks_gather_bytes_of_any_length(length):
    code = f"pipe.send([group.all_gather(b'b' * n) for n in (3, {length})])"
    with other_ranks(code, code) as (group, others):
        wanted = [[b"a" * 5, *[b"b" * n] * 2] for n in (3, length)]
        assert [group.all_gather(b"a" * 5) for _ in "12"] == wanted
        assert [other.pipe.recv() for other in others] == [wanted] * 2
        assert repr(group) == "PipeGroup(rank=0, size=3)"


@pytest.mark.parametrize("data", [5, "text", None, [1]])
def test_group_gathers_nothing_but_bytes(data):
    (alone,) = groups(1)
    with pytest.raises(TypeError, match="it must be bytes"):
        alone.all_gather(data)
    assert alone.all_gather(bytearray(b"data")) == [b"data"]


def test_rank_that_ends_is_an_error_of_all_others():
    """Within milliseconds, not after the timeout."""
    waits = """
try:
    group.all_gather(b"")
except Exception as error:
    pipe.send(f"{type(error).__name__} {error}")
"""
    with other_ranks("os.kill(os.getpid(), signal.SIGKILL)", waits) as (group, (killed, other)):
        with pytest.raises(BrokenBarrierError, match="rank 1 of 3 has ended, and will not come"):
            group.all_gather(b"")
        with pytest.raises(BrokenBarrierError, match="may be at different places; start them"):
            group.all_gather(b"")
        assert other.pipe.recv().startswith("BrokenBarrierError rank 1 of 3 has ended")
        assert killed.process.exitcode in (None, -signal.SIGKILL)


def test_end_of_rank_0_is_an_error_of_the_others():
    first, second = groups(2)
    del first
    gc.collect()
    with pytest.raises(BrokenBarrierError, match="rank 0 of 2 has ended"):
        second.all_gather(b"")


def test_rank_that_does_not_come_is_named():
    first, second = groups(2, timeout=0.1)
    with pytest.raises(TimeoutError, match=r"rank 1 of 2 did not come within 0.1 s"):
        first.all_gather(b"")
    with pytest.raises(BrokenBarrierError, match=r"rank 1 of 2 did not come .* \(as rank 0 says\)"):
        second.all_gather(b"")
    _, second = kept = groups(2, timeout=0.1)
    with pytest.raises(TimeoutError, match=r"rank 0 of 2 did not come within 0.1 s"):
        second.all_gather(b"")
    del kept


def test_ctrl_c_of_rank_0_is_an_error_of_the_others():
    first, second = groups(2)
    main = threading.main_thread().ident
    threading.Timer(0.1, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        first.all_gather(b"")
    with pytest.raises(BrokenBarrierError, match="rank 0 of 2 was interrupted"):
        second.all_gather(b"")


@pytest.mark.parametrize("size", [0, -1, "two", None, True, 1.5])
def test_wrong_sizes_are_refused(size):
    with pytest.raises(ValueError, match="a group has at least one rank"):
        groups(size)


# ---- a store -------------------------------------------------------------------------------------


class Store:
    """A store as torch has it."""

    def __init__(self):
        self.values, self.changed = {}, threading.Condition()

    def set(self, key, value):
        with self.changed:
            self.values[key] = value
            self.changed.notify_all()

    def wait(self, keys, timeout):
        with self.changed:
            came = lambda: all(key in self.values for key in keys)  # noqa: E731
            if not self.changed.wait_for(came, timeout.total_seconds()):
                raise RuntimeError("wait timeout")

    def get(self, key):
        return self.values[key]

    def delete_key(self, key):
        return bool(self.values.pop(key, None))


STORES = [Store]
if find_spec("torch"):
    from torch.distributed import HashStore

    STORES.append(HashStore)


@pytest.mark.parametrize("make", STORES)
def test_ranks_meet_by_a_store(make):
    store, gathered = make(), {}

    def work(rank):
        group = StoreGroup(store, rank, 3)
        gathered[rank] = [group.all_gather(bytes([rank, 255, n])) for n in range(20)]

    threads = [threading.Thread(target=work, args=(rank,)) for rank in range(3)]
    [thread.start() for thread in threads]
    [thread.join(60) for thread in threads]
    wanted = [[bytes([rank, 255, n]) for rank in range(3)] for n in range(20)]
    assert [gathered[rank] for rank in range(3)] == [wanted] * 3


def test_store_keeps_no_old_keys():
    store = Store()
    group = StoreGroup(store, 0, 1)
    for _ in range(10):
        group.all_gather(b"")
    assert len(store.values) == 1


def test_error_of_a_store_is_its_own():
    with pytest.raises(RuntimeError, match="wait timeout"):
        StoreGroup(Store(), 0, 2, timeout=0.05).all_gather(b"")


# ---- groups of others ----------------------------------------------------------------------------


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
    group = as_group(comm, 0.1)
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


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), "soon", True, None])
def test_wrong_timeouts_are_refused(timeout):
    for call in (
        lambda: groups(1, timeout=timeout),
        lambda: StoreGroup(Store(), 0, 1, timeout=timeout),
        lambda: shared_with(Recorded(), timeout=timeout),
    ):
        with pytest.raises(ValueError, match="must be a positive number of seconds"):
            call()
