# SPDX-License-Identifier: Apache-2.0
"""The data of a Dask worker on the device, on the host and on the disk."""

import gc
import logging
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import sycl_ext as sx
from waiting import all_freed, eventually

dpnp = pytest.importorskip("dpnp")
zict = pytest.importorskip("zict")
pytest.importorskip("distributed")

from sycl_ext_dask import spill  # noqa: E402
from sycl_ext_dask.spill import DeviceSpillBuffer  # noqa: E402

KB = 1024  # bytes of each array


@pytest.fixture(autouse=True)
def _without_earlier_blocks():
    """Blocks of earlier tests are not freed while a test compares numbers of bytes."""
    assert all_freed()


@pytest.fixture
def data(tmp_path):
    buffer = DeviceSpillBuffer(str(tmp_path), 2 * KB, 2 * KB + 500)
    yield buffer
    sx.memory.limit(sx.device(), None)
    for key in list(buffer):
        del buffer[key]  # zict's mappings refer to each other


def tiers(data):
    return [sorted(tier) for tier in (data.device.fast, data.host.fast, data.host.slow)]


def tensor(value, usm_type="device"):
    return sx.empty(KB, "uint8", usm_type=usm_type).copy_from(np.full(KB, value, "uint8"))


def test_oldest_data_is_spilled_first(data):
    for i in range(6):
        data[i] = tensor(i) if i % 2 else dpnp.full(KB, i, dtype="uint8")
    assert tiers(data) == [[4, 5], [2, 3], [0, 1]]
    assert len(data) == 6
    assert sorted(data) == list(range(6))
    assert data.spilled_total.memory >= 2 * KB


def test_spilled_data_comes_back_as_it_was(data):
    for i in range(6):
        data[i] = tensor(i, "shared") if i % 2 else dpnp.full(KB, i, dtype="uint8")
    for i in (0, 1, 5):
        assert type(data[i]) is (sx.Tensor if i % 2 else dpnp.ndarray)
        assert data[i].usm_type == ("shared" if i % 2 else "device")
        assert set(sx.as_tensor(data[i]).tolist()) == {i}
    assert tiers(data)[0] == [1, 5]


def test_spilled_data_frees_device_memory(data):
    def live():
        return sum(counts.live_bytes for counts in sx.memory.statistics(sx.device()).values())

    before = live()
    for i in range(6):
        data[i] = tensor(i)
    assert eventually(lambda: live() == before + 2 * KB)


def test_repeated_elements_take_no_room_on_the_device(data):
    for i in range(6):
        data[i] = dpnp.broadcast_to(dpnp.full(1, i, dtype="uint8"), (KB, KB))
    assert tiers(data)[0] == [0, 1, 2, 3, 4, 5]


def test_spilled_array_is_freed_without_the_garbage_collector(tmp_path):
    """Dask spills by the memory of the process, and would spill more for what is kept."""
    from distributed.spill import SpillBuffer

    plain = SpillBuffer(str(tmp_path), target=1 << 30)
    exports = sx.memory.live_exports()

    def live_bytes():
        usage = sx.memory.statistics(sx.device()).items()
        return {kind: counts.live_bytes for (_, kind), counts in usage if kind != "host"}

    live = live_bytes()
    gc.disable()
    try:
        for i in range(4):
            plain[str(i)] = dpnp.full(KB, i, dtype="uint8")
        for _ in range(4):
            plain.evict()
        assert sx.memory.live_exports() == exports
        for i in range(4):
            assert plain[str(i)][0] == i
            plain.evict()
        assert sx.memory.live_exports() == exports
        assert eventually(lambda: all(live_bytes()[kind] == n for kind, n in live.items()))
    finally:
        gc.enable()


def test_host_objects_stay_on_the_host(data):
    data["array"] = np.arange(10)
    data["host"] = tensor(1, "host")
    data["text"] = "abc"
    data["view"] = sx.host_view(tensor(1))  # of memory that the CPU device calls "device"
    assert tiers(data) == [[], ["array", "host", "text", "view"], []]
    data.evict()
    assert tiers(data)[2] == ["array"]
    assert (data["array"].sum(), data["text"], data["host"][3].item()) == (45, "abc", 1)


def test_failing_allocation_makes_room(data):
    data[0], data[1] = tensor(0), tensor(1)
    used = sum(counts.live_bytes for counts in sx.memory.statistics(sx.device()).values())
    sx.memory.limit(sx.device(), used + KB // 2, spill.make_room)
    made = tensor(2)
    assert made.shape == (KB,)
    assert tiers(data) == [[1], [0], []]
    del made
    with pytest.raises(MemoryError):
        sx.empty(used + 10 * KB, "uint8")
    assert tiers(data)[0] == []


def test_room_that_another_thread_has_made_meanwhile_is_used(data, monkeypatch):
    """Its allocation would fail, although the other one has moved more than it needed."""

    class Taken:
        """The lock, while another thread has it."""

        def __enter__(self):
            monkeypatch.undo()
            assert spill.make_room(1)

        def __exit__(self, *_):
            pass

    data[0] = tensor(0)
    monkeypatch.setattr(spill, "_lock", Taken())
    assert spill.make_room(1)
    assert tiers(data)[:2] == [[], [0]]
    assert not spill.make_room(1)


def test_workers_of_a_process_make_room_together(data, tmp_path):
    """The last one does not take the place of the others, nor keep the data of a closed one."""
    other = DeviceSpillBuffer(str(tmp_path / "other"), 2 * KB)
    data[0], other[1] = tensor(0), tensor(1)
    assert spill.make_room(2 * KB)
    assert (tiers(data), tiers(other)) == ([[], [0], []], [[], [1], []])
    assert not spill.make_room(1)
    gone, _ = weakref.ref(other), other.pop(1)
    del other
    gc.collect()
    assert gone() is None


def test_limit_of_the_program_stays_and_its_function_is_called_last(tmp_path):
    asked = []

    def theirs(nbytes):
        asked.append(nbytes)
        return False

    most = sum(counts.live_bytes for counts in sx.memory.statistics(sx.device()).values()) + 3 * KB
    sx.memory.limit(sx.device(), most, theirs)
    try:
        data = DeviceSpillBuffer(str(tmp_path / "1"), 8 * KB)
        other = DeviceSpillBuffer(str(tmp_path / "2"), 8 * KB)
        for i in range(5):
            data[i] = tensor(i)
        assert (tiers(data)[:2], asked) == ([[2, 3, 4], [0, 1]], [])
        with pytest.raises(MemoryError, match=f"allows {most} bytes"):
            sx.empty(most + KB, "uint8")
        assert (tiers(data)[0], len(asked)) == ([], 1)
        data.clear()
        del data
        gc.collect()
        assert sx.memory.limit(sx.device()) == (most, spill.make_room)
        del other
        gc.collect()
        assert sx.memory.limit(sx.device()) == (most, theirs)
    finally:
        sx.memory.limit(sx.device(), None)


def test_function_that_was_set_later_stays(tmp_path):
    data = DeviceSpillBuffer(str(tmp_path), 2 * KB)
    sx.memory.limit(sx.device(), None, print)
    del data
    gc.collect()
    assert sx.memory.limit(sx.device()) == (None, print)
    sx.memory.limit(sx.device(), None)


def test_eviction_empties_the_device_and_the_host(data):
    """It asks while there is something to move, when its process has too much memory."""
    data[0] = tensor(0)
    moved = 0
    while data.fast:
        moved += data.evict() > 0
    assert (moved, tiers(data)) == (2, [[], [], [0]])


def test_threads_wait_for_the_one_that_moves_an_array(tmp_path, monkeypatch):
    """zict tries again without a pause, which keeps that thread from the lock it needs."""
    moving, go_on, evict, calls = threading.Event(), threading.Event(), zict.LRU.evict, []
    to_host = spill._to_host

    def wait(value):
        moving.set()
        assert go_on.wait(60)
        return to_host(value)

    monkeypatch.setattr(spill, "_to_host", wait)
    monkeypatch.setattr(zict.LRU, "evict", lambda self: calls.append(self) or evict(self))
    data = DeviceSpillBuffer(str(tmp_path), KB)
    data[0] = tensor(0)
    with ThreadPoolExecutor(2) as pool:
        stored = pool.submit(data.__setitem__, 1, tensor(1))  # moves 0
        assert moving.wait(60)
        made = pool.submit(spill.make_room, KB)
        time.sleep(0.1)
        go_on.set()
        stored.result(60)
        assert made.result(60) is True
    sx.memory.limit(sx.device(), None)
    assert len(calls) == 2
    assert (data[0][0].item(), data[1][0].item()) == (0, 1)


class Unpicklable:
    def __init__(self, nbytes):
        self.nbytes = nbytes

    def __sizeof__(self):
        return self.nbytes

    def __reduce__(self):
        raise TypeError("a lock cannot be pickled")


def test_object_that_cannot_be_pickled_fails_alone(data, monkeypatch):
    """As in `distributed.spill.SpillBuffer`, which logs the error, and with it these tensors."""
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL)
    data["model"] = tensor(0)
    with pytest.raises(Exception, match="pickle"):
        data["model"] = Unpicklable(3 * KB)
    assert "model" not in data
    data["small"] = Unpicklable(KB)
    for i in range(6):
        data[i] = tensor(i) if i % 2 else np.full(KB, i, "uint8")
    assert [set(sx.as_tensor(data[i]).tolist()) for i in range(6)] == [{i} for i in range(6)]
    assert type(data["small"]) is Unpicklable
