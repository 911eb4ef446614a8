# SPDX-License-Identifier: Apache-2.0
"""Statistics of allocations, and the limit of a device with its callback."""

import threading
import time

import dpctl
import numpy as np
import pytest

import environments
import sycl_ext as sx
from sycl_ext.memory import Statistics, limit, statistics
from waiting import all_freed, eventually

MIB = 1 << 20


def of(device=None, usm_type="device"):
    usage = statistics(sx.device() if device is None else device)
    return usage.get((sx.device(device), usm_type), Statistics(0, 0, 0, 0))


@pytest.fixture(autouse=True)
def _without_earlier_blocks():
    """Blocks of earlier tests, which are freed when their work is done, are gone."""
    assert all_freed()
    sx.memory.release_cached()
    yield
    limit(sx.device(), None)


@pytest.mark.parametrize("usm_type", ["device", "shared", "host"])
def test_statistics(usm_type):
    before = of(usm_type=usm_type)
    tensor = sx.empty(3 * MIB, "uint8", usm_type=usm_type)
    now = of(usm_type=usm_type)
    assert now.live_bytes == before.live_bytes + 3 * MIB
    assert now.live_allocations == before.live_allocations + 1
    assert now.total_allocations == before.total_allocations + 1
    assert now.peak_bytes >= now.live_bytes
    again = sx.from_dlpack(tensor[1:])  # no allocation
    assert of(usm_type=usm_type) == now
    del tensor, again
    assert eventually(lambda: of(usm_type=usm_type).live_bytes == before.live_bytes)
    assert of(usm_type=usm_type)[1:] == (now.peak_bytes, before.live_allocations, now[3])


def test_statistics_of_host_memory_and_of_other_entries():
    private = sx.register_context(dpctl.SyclContext([sx.device().sycl_device]))
    assert (private, "device") not in statistics()
    tensor = sx.zeros(MIB, "uint8", device=private)
    assert statistics(private) == {(private, "device"): Statistics(MIB, MIB, 1, 1)}
    copy = tensor.to_numpy(copy=True)
    assert statistics()[None, "system"].live_bytes >= MIB
    assert not any(device is None for device, _ in statistics(private))
    del copy


def test_small_and_empty_blocks():
    before = of()
    kept = [sx.empty(1, "uint8") for _ in range(10)]
    nothing = sx.empty(0)
    assert of().total_allocations == before.total_allocations + 10
    assert 10 <= of().live_bytes - before.live_bytes <= 10 * 64
    del kept, nothing


# ---- the limit -----------------------------------------------------------------------------------


def test_limit_refuses_allocations_beyond_it():
    used = of().live_bytes + of(usm_type="shared").live_bytes
    limit(sx.device(), used + 2 * MIB)
    kept = [sx.empty(MIB, "uint8"), sx.empty(MIB, "uint8", usm_type="shared")]
    words = rf"cannot allocate 1 bytes .*memory.limit allows {used + 2 * MIB} bytes"
    with pytest.raises(MemoryError, match=words):
        sx.empty(1, "uint8")
    for call in (
        lambda: sx.zeros(MIB),
        lambda: sx.as_tensor(np.zeros(10), copy=True),
        lambda: kept[0].copy(),
    ):
        with pytest.raises(MemoryError, match="memory.limit"):
            call()
    assert kept[0].to_numpy(copy=True).nbytes == MIB  # memory of the host is not limited
    sx.empty(MIB, usm_type="host")
    del kept[0]
    assert eventually(lambda: of().live_bytes + of(usm_type="shared").live_bytes <= used + MIB)
    sx.empty(MIB, "uint8")
    limit(sx.device(), None)
    sx.empty(5 * MIB, "uint8")


def test_limit_of_a_device_is_returned_and_can_be_set_again():
    def spill(nbytes):
        return False

    assert limit(sx.device()) == (None, None)
    for wanted in ((5, spill), (None, spill), (7, None)):
        assert limit(sx.device(), *wanted) is None
        assert limit(sx.device()) == wanted
    with pytest.raises(MemoryError, match="allows 7 bytes"):
        sx.empty(MIB)
    limit(sx.device(), None)
    assert limit(sx.device()) == (None, None)


@pytest.mark.parametrize("size", [100, 5 * MIB])
def test_callback_makes_room(size):
    asked, cache = [], [sx.empty(size, "uint8") for _ in range(3)]

    def spill(nbytes):
        asked.append(nbytes)
        if cache:
            cache.pop().to_numpy(copy=True)  # as a spilling cache does
            return True
        return False

    limit(sx.device(), of().live_bytes + of(usm_type="shared").live_bytes, spill)
    kept = [sx.empty(size, "uint8") for _ in range(3)]
    assert not cache
    assert all(size <= nbytes <= size + 64 for nbytes in asked)
    with pytest.raises(MemoryError):
        sx.empty(size, "uint8")
    assert len(asked) == 4
    del kept


def test_error_names_the_limit_that_was_passed_though_the_callback_has_removed_it():
    limit(sx.device(), 5, lambda nbytes: limit(sx.device(), None))
    with pytest.raises(MemoryError, match=r"allows 5 bytes on device .*, and \d+ are in use"):
        sx.empty(10)


def test_callback_may_raise_and_allocate():
    limit(sx.device(), 0, lambda nbytes: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        sx.empty(1)
    with pytest.raises(ZeroDivisionError):
        sx.zeros(5 * MIB)  # allocated without the GIL
    calls = []

    def recursive(nbytes):
        calls.append(nbytes)
        sx.empty(1)

    limit(sx.device(), 0, recursive)
    with pytest.raises(MemoryError, match="memory.limit"):
        sx.empty(1)
    assert len(calls) == 1


def test_callback_is_called_again_as_long_as_it_returns_true():
    calls, kept = [], [sx.empty(5 * MIB, "uint8")]

    def nothing(nbytes):
        calls.append(nbytes)
        return len(calls) < 2000

    limit(sx.device(), 0, nothing)
    with pytest.raises(MemoryError, match="memory.limit"):
        sx.empty(1)
    assert len(calls) == 2000

    def late(nbytes):
        calls.append(nbytes)
        if len(calls) == 4000:
            kept.clear()
        return True

    limit(sx.device(), of().live_bytes + of(usm_type="shared").live_bytes, late)
    sx.empty(5 * MIB, "uint8")
    assert len(calls) == 4000


def test_ctrl_c_ends_an_allocation_whose_callback_always_returns_true():
    environments.python(
        """
import functools, os, signal, threading
import sycl_ext as sx

always = functools.partial(max, 1)  # without a line of Python in which Ctrl-C is noticed
sx.memory.limit(sx.device("cpu"), 0, always)
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    sx.empty(1000, device="cpu")
except KeyboardInterrupt:
    pass
else:
    raise AssertionError("not interrupted")
"""
    )


def bytes_of_root():
    return sum(
        use.live_bytes
        for (device, kind), use in statistics().items()
        if kind in ("device", "shared") and device.root_id == sx.device().id
    )


def test_root_limit_holds_for_contexts_and_sub_devices(halves):
    private = sx.register_context(dpctl.SyclContext([sx.device().sycl_device]))
    sub_device, _ = halves
    asked = []
    limit(sx.device(), 0, asked.append)
    for device in (private, sub_device):
        with pytest.raises(MemoryError, match=rf"allows \d+ bytes on device {sx.device().id}"):
            sx.empty(3, device=device)
    assert len(asked) == 2
    limit(sx.device(), None)
    for device in (private, sub_device):  # memory there is a part of that of the root device
        limit(sx.device(), bytes_of_root() + MIB)
        kept = sx.empty(MIB, "uint8", device=device)
        with pytest.raises(MemoryError, match=rf"allows \d+ bytes on device {sx.device().id}"):
            sx.empty(MIB, "uint8")
        del kept
        limit(sx.device(), None)
    limit(private, 0)
    with pytest.raises(MemoryError, match=rf"allows \d+ bytes on device {private.id}"):
        sx.empty(3, device=private)
    sx.empty(3)
    limit(private, None)


def test_allocations_of_two_threads_call_the_callback_at_once():
    """A thread that waited for the callback of another would hold locks that this one may need."""
    both, result = threading.Barrier(2, timeout=50), []

    def allocate():
        try:
            result.append(sx.empty(1000, "uint8"))
        except MemoryError as error:
            result.append(error)

    limit(sx.device(), 0, lambda nbytes: both.wait() < 0)
    threads = [threading.Thread(target=allocate) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [type(outcome) for outcome in result] == [MemoryError] * 2


def test_allocations_of_several_threads_get_the_room_that_the_callback_makes():
    """All but one failed while the callback ran."""
    size = 1 << 17
    spare = [sx.empty(size, "uint8") for _ in range(60)]
    result, start = [], threading.Barrier(6)

    def make_room(nbytes):
        spare.pop()
        time.sleep(0.01)  # the others need room meanwhile
        return True

    def allocate():
        start.wait()
        try:
            result.extend([sx.empty(size, "uint8") for _ in range(8)])
        except MemoryError as error:
            result.append(error)

    limit(sx.device(), of().live_bytes + of(usm_type="shared").live_bytes, make_room)
    threads = [threading.Thread(target=allocate) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [type(outcome) for outcome in result] == [sx.Tensor] * 48


def test_child_forked_during_the_callback_has_the_callback():
    """The thread that runs it is not in the child."""
    environments.python(
        """
import os, threading
import sycl_ext as sx

running, is_over, parent = threading.Event(), threading.Event(), os.getpid()

def callback(nbytes):
    if os.getpid() != parent:
        os._exit(0)
    running.set()
    is_over.wait(50)

def allocate():
    try:
        sx.empty(1000, "uint8")
    except MemoryError:
        pass

sx.memory.limit(sx.device("cpu"), 0, callback)
thread = threading.Thread(target=allocate)
thread.start()
running.wait(50)
child = os.fork()
if child == 0:
    allocate()
    os._exit(1)
status = os.waitpid(child, 0)[1]
is_over.set()
thread.join()
assert status == 0, "the callback was not called"
"""
    )
