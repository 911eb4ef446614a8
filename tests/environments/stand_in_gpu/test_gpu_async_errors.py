# SPDX-License-Identifier: Apache-2.0
"""Copies that fail while their caller goes on: which wait raises the error, and what is kept."""

import contextlib
import threading
import time
import weakref

import dpctl
import dpctl.memory
import numpy as np
import pytest

import environments
import sycl_ext as sx
from producers import Raising
from samples import bits
from test_gpu_async_copies import LARGE, SMALL, pinned
from test_interrupts import until_nobody_waits
from waiting import blocked, eventually


@pytest.mark.parametrize("source", ["pageable", "pinned"])
def test_asynchronous_error_is_raised_by_each_wait(gpu, adapter, source):
    """Each time; and where the target is used first, there, once."""
    t = sx.zeros(SMALL.shape, SMALL.dtype, device=gpu)
    given = pinned(SMALL, gpu) if source == "pinned" else SMALL
    until_nobody_waits()  # the thread that frees also asks the driver
    adapter.fakegpu_async_error_next()
    copy = t.copy_from(given, wait=False)
    for _ in range(2):
        with pytest.raises(sx.SyclError):
            copy.result()
        assert copy.done()
    until_nobody_waits()
    t.to_numpy()  # nothing is pending: the next command is the copy
    until_nobody_waits()
    adapter.fakegpu_async_error_next()
    copy = t.copy_from(given, wait=False)
    with pytest.raises(sx.SyclError):
        t.to_numpy()
    with pytest.raises(sx.SyclError):
        copy.wait()
    until_nobody_waits()
    t.copy_from(given, wait=False)
    assert bits(t.to_numpy()) == bits(SMALL)
    if source == "pinned":
        assert bits(given.to_numpy()) == bits(SMALL)


def test_asynchronous_error_is_raised_through_numpy(gpu, adapter):
    """NumPy drops every exception of a buffer request, and asks once more."""
    t = sx.zeros(SMALL.shape, SMALL.dtype, usm_type="shared", device=gpu)
    given = pinned(SMALL, gpu)
    until_nobody_waits()
    adapter.fakegpu_async_error_next()
    copy = t.copy_from(given, wait=False)
    assert eventually(copy.done)
    with pytest.raises(sx.SyclError):
        np.asarray(t)


def test_asynchronous_error_is_not_taken_for_a_refusal(gpu, adapter):
    """After a refusal something else is tried, which would copy the elements of before."""
    t = sx.zeros(SMALL.shape, SMALL.dtype, usm_type="shared", device=gpu)
    until_nobody_waits()
    adapter.fakegpu_async_error_next()
    copy = t.copy_from(pinned(SMALL, gpu), wait=False)
    assert eventually(copy.done)
    with pytest.raises(sx.SyclError):
        sx.exchange(t, np)
    with pytest.raises(sx.SyclError):
        sx.as_tensor(Raising(SMALL, sx.SyclError("a copy to this memory has failed")))


@pytest.mark.parametrize("source", ["pageable", "pinned"])
def test_asynchronous_error_outlives_the_view_of_the_copy(gpu, adapter, source):
    t = sx.zeros(SMALL.shape, SMALL.dtype, device=gpu)
    given = pinned(SMALL, gpu) if source == "pinned" else SMALL
    view = t
    for _ in range(2):
        view = sx.as_tensor(view, device=dpctl.SyclQueue(gpu.sycl_context, gpu.sycl_device))
    until_nobody_waits()
    adapter.fakegpu_async_error_next()
    copy = view[1:].copy_from(given[1:], wait=False)
    del view
    assert eventually(copy.done)
    del copy
    with pytest.raises(sx.SyclError):
        t.to_numpy()
    assert not t.to_numpy().any()


def test_asynchronous_error_of_memory_of_others_is_told_at_its_address(gpu, adapter):
    """Once, to whoever is next: nobody tells when it becomes another array's."""
    memory = dpctl.memory.MemoryUSMDevice(64, queue=gpu.sycl_queue)
    given = pinned(np.arange(64, dtype="u1"), gpu)
    until_nobody_waits()
    adapter.fakegpu_async_error_next()
    copy = sx.as_tensor(memory).copy_from(given, wait=False)
    assert eventually(copy.done)
    del copy
    with pytest.raises(sx.SyclError, match="or to an earlier array at its address, has failed"):
        sx.as_tensor(memory).wait()
    sx.as_tensor(memory).wait()


@pytest.mark.parametrize("looks", [False, True])
def test_asynchronous_error_of_a_dropped_tensor_is_not_of_the_next_one(gpu, adapter, looks):
    """It is known only when somebody waits, and the block may be another tensor's by then."""
    t = sx.zeros(SMALL.shape, SMALL.dtype, device=gpu)
    address, given = t.ptr, pinned(SMALL, gpu)
    until_nobody_waits()
    adapter.fakegpu_async_error_next()
    copy = t.copy_from(given, wait=False)
    if looks:
        assert eventually(copy.done)
    del t, copy
    until_nobody_waits()
    after = sx.empty(SMALL.shape, SMALL.dtype, device=gpu)
    assert after.ptr == address
    after.wait()
    assert bits(after.copy_from(SMALL).to_numpy()) == bits(SMALL)


def test_async_copy_does_not_raise_the_error_of_the_next(gpu, adapter, hold):
    a, b = (sx.zeros(SMALL.shape, SMALL.dtype, device=gpu) for _ in range(2))
    source = pinned(SMALL, gpu)
    until_nobody_waits()
    with hold():
        good = a.copy_from(source, wait=False)
        time.sleep(0.2)  # the thread that frees also marks the end of it with a command
        adapter.fakegpu_async_error_next()
        bad = b.copy_from(source, wait=False)
    assert eventually(bad.done)
    good.wait()
    assert bits(a.to_numpy()) == bits(SMALL)  # a reader of other memory is not told
    with pytest.raises(sx.SyclError):
        b.to_numpy()
    with pytest.raises(sx.SyclError):
        bad.wait()
    b.to_numpy()


@pytest.mark.parametrize("number", range(1, 13, 3))
def test_failed_copy_keeps_its_target_until_its_commands_end(gpu, adapter, hold, number):
    """Whichever call fails: a command of it that runs goes on, and its target lives as long."""
    t = sx.empty(LARGE.shape, LARGE.dtype, device=gpu)
    until_nobody_waits()
    before = adapter.fakegpu_copies()
    copy = None
    with hold() as held:
        adapter.fakegpu_fail_at(number)
        with contextlib.suppress(sx.SyclError, MemoryError):
            copy = t.copy_from(LARGE, wait=False)
        del t
        time.sleep(0.1)
        adapter.fakegpu_fail_at(0)
        was_over = copy is not None and copy.done()
        held.release()
    with contextlib.suppress(sx.SyclError, MemoryError):
        if copy is not None:
            copy.wait()
    gpu.sycl_queue.wait()
    time.sleep(0.1)
    assert not (was_over and adapter.fakegpu_copies() > before)
    until_nobody_waits()


@pytest.mark.parametrize("call", range(1, 9))
def test_source_outlives_a_refused_runtime_call(gpu, adapter, hold, call):
    """Whichever is refused; above all the marker of the thread that frees (DEVICE_LOST once)."""
    t, array = sx.zeros(SMALL.shape, SMALL.dtype, device=gpu), SMALL + call
    source, wanted = weakref.ref(array), bits(array)
    until_nobody_waits()
    with hold():
        adapter.fakegpu_fail_at(call)
        try:
            t.copy_from(array, wait=False)
        except sx.SyclError:
            return
        del array
        sx.memory.release_cached()  # the thread that frees has looked at everything
        assert source() is not None
        adapter.fakegpu_fail_at(0)
    assert bits(t.to_numpy()) == wanted
    assert eventually(lambda: source() is None)


def test_full_device_is_a_memory_error_at_the_call(gpu, adapter):
    """The card has 1 GiB: 300 MiB fit, and 900 MiB more do not."""
    t = sx.empty(300 << 20, "uint8", device=gpu)
    with pytest.raises(MemoryError):
        t.copy_from(sx.empty(900 << 20, "uint8", device=gpu), wait=False)
    assert t[:3].copy_from(np.ones(3, "uint8"), wait=False).result()[2].item() == 1


@pytest.mark.parametrize("wait", [True, False])
def test_asynchronous_error_told_to_another_wait_is_raised(gpu, adapter, hold, wait):
    """A driver skips the commands behind a failed one, and tells the first wait only."""
    a, b = sx.zeros(SMALL.shape, SMALL.dtype, device=gpu), sx.zeros(16 << 20, "uint8", device=gpu)
    source = pinned(SMALL, gpu)
    until_nobody_waits()

    def read():  # in blocks: some are asked for when those before them are there
        with contextlib.suppress(sx.SyclError):
            b.to_numpy()

    with hold() as held:
        thread, _ = blocked(read)
        adapter.fakegpu_async_error_next()
        a.copy_from(source, wait=False)
        held.release()
        thread.join()
    with pytest.raises(sx.SyclError):
        _ = a.to_numpy() if wait else a.to_numpy(wait=False).result()
    a.copy_from(source, wait=False)
    assert bits(a.to_numpy()) == bits(SMALL)


def test_asynchronous_error_of_a_copy_from_another_gpu_is_raised(gpus, adapter):
    """The command is one of the source's queue, and a reader of the target asks another."""
    source = sx.as_tensor(SMALL, device=gpus[0])
    t = sx.empty(SMALL.shape, SMALL.dtype, usm_type="host", device=gpus[1])
    until_nobody_waits()
    adapter.fakegpu_async_error_next()

    def copied():
        t.copy_from(source, wait=False)
        return t.to_numpy()

    with pytest.raises(sx.SyclError):
        copied()


def test_asynchronous_error_of_the_source_is_raised_by_a_copy_of_another_gpu(gpus, adapter, hold):
    """The queue of the second copy does not know of the first one."""
    source, t = (sx.zeros(SMALL.shape, SMALL.dtype, device=gpu) for gpu in gpus[:2])
    given = pinned(SMALL, gpus[0])
    until_nobody_waits()

    def copied():
        with hold():
            adapter.fakegpu_async_error_next()
            source.copy_from(given, wait=False)
            thread = threading.Timer(0.2, adapter.fakegpu_set_delay_us, (0,))
            thread.start()
            copy = t.copy_from(source, wait=False)
        thread.join()
        copy.wait()
        return t.to_numpy()

    with pytest.raises(sx.SyclError):
        copied()
    source.copy_from(given, wait=False)
    assert bits(t.copy_from(source, wait=False).result().to_numpy()) == bits(SMALL)


def test_failed_ordering_between_gpus_is_an_error(adapter):
    """Level Zero v1 does not recover when it orders the queues by events: a later copy hangs."""
    environments.python(
        """
import numpy as np
import sycl_ext as sx
from level_zero import control

gpus = [d for d in sx.devices() if d.kind == "root" and d.device_type == "gpu"]
source = sx.as_tensor(np.arange(1000), device=gpus[0])
target = sx.zeros(1000, "int64", usm_type="shared", device=gpus[1])
# Nor when it cannot make an object that the first command on a queue needs.
target.copy_from(source, wait=False).wait()
source.copy_from(target, wait=False).wait()
driver, failed = control.loaded(), 0
for call in range(1, 8):
    driver.fakegpu_set_delay_us(50_000)
    source.copy_from(np.arange(call, call + 1000), wait=False)
    driver.fakegpu_fail_at(call)
    try:
        target.copy_from(source, wait=False)
    except sx.SyclError:
        failed += 1
    driver.fakegpu_fail_at(0)
    driver.fakegpu_set_delay_us(0)
    target.copy_from(source)
    assert target.tolist() == list(range(call, call + 1000))
assert failed
""",
        inherit=True,
    )
