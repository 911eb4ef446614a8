# SPDX-License-Identifier: Apache-2.0
"""Copies that go on while their caller does, on GPUs that are held until a test releases them."""

import asyncio
import os
import signal
import threading
from pathlib import Path

import dpctl
import dpctl.memory
import numpy as np
import pytest

import sycl_ext as sx
from samples import bits, values
from test_interrupts import until_nobody_waits
from waiting import blocked, eventually

SMALL, LARGE = values((30, 40), "int16"), values((1500, 2000), "int16")
#: So many copies are pending at most (docs/streams.md).
PENDING = 256


def pinned(array, device):
    return sx.empty(array.shape, array.dtype, usm_type="host", device=device).copy_from(array)


# ---- held ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("array", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("source", ["pageable", "pinned"])
def test_async_copy_returns_and_exports_wait_for_it(gpu, hold, array, source):
    t = sx.zeros(array.shape, array.dtype, device=gpu)
    given = pinned(array, gpu) if source == "pinned" else array
    with hold() as held:
        copy = t.copy_from(given, wait=False)
        assert not copy.done()
        exports = [
            blocked(lambda: t.__dlpack__()),
            blocked(lambda: t.to_numpy()),
            blocked(lambda: sx.exchange(t, np)),
            blocked(copy.result),
        ]
        assert not copy.done()
        held.release()
        for thread, _ in exports:
            thread.join(60)
    copy.wait()
    assert bits(exports[1][1][0]) == bits(array)
    assert bits(exports[2][1][0]) == bits(array)
    assert exports[3][1][0] is t


def test_hundreds_of_copies_need_no_thread(gpu, hold):
    rows = np.arange(PENDING * 8, dtype="int32").reshape(PENDING, 8)
    t = sx.zeros(rows.shape, rows.dtype, device=gpu)
    t[0].copy_from(rows[0], wait=False).wait()  # whatever threads there are, are there now
    until_nobody_waits()

    def threads():
        return len(list(Path("/proc/self/task").iterdir()))

    before = threads()
    with hold():
        copies = [to.copy_from(row, wait=False) for to, row in zip(t, rows, strict=True)]
        assert threads() <= before + 1  # the one that frees
        assert not any(copy.done() for copy in copies)
    assert t.tolist() == rows.tolist()
    assert all(copy.done() for copy in copies)


def test_async_copy_waits_while_hundreds_are_pending(gpu, hold):
    """In any thread, where others go on; and Ctrl-C ends the wait in the main thread."""
    rows = np.arange(3 * PENDING * 8, dtype="int32").reshape(-1, 8)
    t, other = sx.zeros(rows.shape, rows.dtype, device=gpu), sx.zeros(8, "int32", device=gpu)
    begun = []

    def begin_all():
        for to, row in zip(t, rows, strict=True):
            begun.append(to.copy_from(row, wait=False))

    with hold() as held:
        thread = threading.Thread(target=begin_all, daemon=True)
        thread.start()
        assert eventually(lambda: len(begun) >= PENDING)
        with pytest.raises(KeyboardInterrupt):
            interrupted(lambda: other.copy_from(rows[0], wait=False))
        assert len(begun) == PENDING
        held.release()
        thread.join(60)
    assert len(begun) == len(rows)
    assert t.tolist() == rows.tolist()
    until_nobody_waits()


#: Copies of more than one command: (tensor, other GPU) -> copy
MORE_THAN_A_COMMAND = {
    "gaps": lambda t, other: t[::2].copy_from(LARGE[::2], wait=False),
    "strides": lambda t, other: t.copy_from(np.asfortranarray(LARGE), wait=False),
    "overlap": lambda t, other: t[1:].copy_from(t[:-1], wait=False),
    "another context": lambda t, other: t.copy_from(
        sx.as_tensor(LARGE, device=sx.register_context(dpctl.SyclContext([t.device.sycl_device]))),
        wait=False,
    ),
    "to the host": lambda t, other: t.T.to_numpy(wait=False),
}


@pytest.mark.parametrize("way", MORE_THAN_A_COMMAND)
def test_copy_of_several_commands_is_done_when_the_call_returns(gpus, way):
    t = sx.as_tensor(LARGE, device=gpus[0])
    copy = MORE_THAN_A_COMMAND[way](t, gpus[1])
    if way == "to the host" and not gpus[0]._entry.reason_against_kernels():
        copy.wait()  # one command: a kernel
    assert copy.done()
    complete = dpctl.event_status_type.complete
    assert copy.sycl_event.execution_status == complete
    copy.wait()


def test_async_copy_follows_the_work_of_its_entrys_queue(gpu, hold):
    """Also where that is about other memory, and goes in the other direction."""
    down, up = sx.as_tensor(LARGE, device=gpu), sx.zeros(SMALL.shape, SMALL.dtype, device=gpu)
    with hold():
        first = down.to_numpy(wait=False)
        second = up.copy_from(SMALL, wait=False)
        assert not second.done()
    second.wait()
    assert first.done()
    assert bits(first.result()) == bits(LARGE)
    assert bits(up.to_numpy()) == bits(SMALL)


def test_queue_is_ordered_after_a_pending_copy_without_a_wait(gpu, hold):
    """By `stream`, the interface, `sycl_queue` or the event; or it is the tensor's own."""
    source = pinned(SMALL, gpu)
    for way in ("stream", "interface", "sycl_queue", "event", "its own"):
        queue = dpctl.SyclQueue(gpu.sycl_context, gpu.sycl_device, property="in_order")
        own = way in ("interface", "sycl_queue", "its own")
        t = sx.zeros(SMALL.shape, SMALL.dtype, device=queue if own else gpu)
        landing = sx.zeros(SMALL.shape, SMALL.dtype, usm_type="host", device=gpu)
        to, memory = (dpctl.memory.as_usm_memory(x) for x in (landing, t))
        with hold():
            copy = t.copy_from(source, wait=False)
            after = []
            if way == "stream":
                t.__dlpack__(stream=queue, max_version=(1, 0))
            elif way == "interface":
                queue = t.__sycl_usm_array_interface__["syclobj"]
            elif way == "sycl_queue":
                queue = t.sycl_queue
            elif way == "event":
                after = [copy.sycl_event]
            later = queue.memcpy_async(to, memory, t.nbytes, after)
            assert not copy.done(), way
        later.wait()
        assert bits(landing.to_numpy()) == bits(SMALL), way


#: Where no event can say what comes later: a queue that is out of order, or of another context.
HOST_WAITS = {
    "out-of-order": lambda t: t.__dlpack__(stream=queue_of(t), max_version=(1, 0)),
    "another context": lambda t: t.__dlpack__(
        stream=queue_of(t, dpctl.SyclContext([t.device.sycl_device]), "in_order"),
        max_version=(1, 0),
    ),
    "interface": lambda t: t.__sycl_usm_array_interface__,
    "sycl_queue": lambda t: t.sycl_queue,
}


def queue_of(tensor, context=None, *properties):
    context = tensor.sycl_context if context is None else context
    return dpctl.SyclQueue(context, tensor.device.sycl_device, property=list(properties))


@pytest.mark.parametrize("way", HOST_WAITS)
def test_export_without_a_queue_waits_for_a_pending_copy(gpu, hold, way):
    source, t = pinned(SMALL, gpu), sx.zeros(SMALL.shape, SMALL.dtype, device=gpu)
    with hold() as held:
        copy = t.copy_from(source, wait=False)
        thread, _ = blocked(lambda: HOST_WAITS[way](t))
        assert not copy.done()
        held.release()
        thread.join(60)
    copy.wait()


def test_async_copy_follows_the_work_of_both_queues(gpu, hold):
    """Both sides have a queue of their own, with work that is pending."""
    context, device = gpu.sycl_context, gpu.sycl_device
    for properties in (("in_order",), ()):
        a, b = (dpctl.SyclQueue(context, device, property=list(properties)) for _ in range(2))
        source, target = (sx.zeros(SMALL.shape, SMALL.dtype, device=queue) for queue in (a, b))
        fill, wrong = pinned(SMALL, gpu), pinned(SMALL + 1, gpu)
        memories = [dpctl.memory.as_usm_memory(x) for x in (source, target, fill, wrong)]
        with hold():
            a.memcpy_async(memories[0], memories[2], source.nbytes)
            b.memcpy_async(memories[1], memories[3], source.nbytes)
            copy = target.copy_from(source, wait=False)
            assert not copy.done()
        assert bits(target.to_numpy()) == bits(SMALL)


@pytest.mark.parametrize("side", ["source", "target"])
def test_work_on_both_sides_follows_a_pending_copy(gpu, adapter, side):
    """A queue of the user's own writes to a side while the copy waits behind an earlier one."""
    queue = dpctl.SyclQueue(gpu.sycl_context, gpu.sycl_device, property="in_order")
    where = {"source": (queue, gpu), "target": (gpu, queue)}[side]
    source, target = (sx.zeros(SMALL.shape, SMALL.dtype, device=place) for place in where)
    earlier, given = sx.zeros(SMALL.shape, SMALL.dtype, device=gpu), pinned(SMALL, gpu)
    source.copy_from(given)
    sides = (source if side == "source" else target, pinned(SMALL + 1, gpu))
    to, later = (dpctl.memory.as_usm_memory(x) for x in sides)
    adapter.fakegpu_set_delay_us(100_000)  # of each command on its queue
    for _ in range(6):
        earlier.copy_from(given, wait=False)
    copy = target.copy_from(source, wait=False)
    queue.memcpy_async(to, later, source.nbytes)
    assert not copy.done()
    target.sycl_queue.wait()
    queue.wait()
    assert bits(target.to_numpy()) == bits(SMALL if side == "source" else SMALL + 1)


def test_dropped_async_copy_goes_on(gpu, hold, blocks, allocations_left):
    """Both sides live until the copy is done, and no longer."""
    a = sx.zeros(LARGE.shape, LARGE.dtype, device=gpu)
    before = allocations_left()
    given = pinned(LARGE[:10], gpu)
    with hold():
        a.copy_from(LARGE.copy(), wait=False)
        a[:10].copy_from(given, wait=False)
        del given
        a[:10].to_numpy(wait=False)
        assert blocks() > before
    until_nobody_waits()
    assert bits(a.to_numpy()) == bits(LARGE)
    assert eventually(lambda: allocations_left() <= before)  # a thread drops them when it is done


def interrupted(wait):
    """The signal may come before the wait, but not before this call."""
    threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
    return wait()


async def interrupted_coroutine(copy):
    await interrupted(lambda: copy)


@pytest.mark.parametrize("source", ["pageable", "pinned"])
def test_ctrl_c_ends_the_wait_and_not_the_copy(gpu, hold, source):
    t = sx.zeros(LARGE.shape, LARGE.dtype, device=gpu)
    given = pinned(LARGE, gpu) if source == "pinned" else LARGE
    with hold():
        copy = t.copy_from(given, wait=False)
        for wait in (copy.wait, copy.result, t.to_numpy):
            with pytest.raises(KeyboardInterrupt):
                interrupted(wait)
            assert not copy.done()
        with pytest.raises(KeyboardInterrupt):
            asyncio.run(interrupted_coroutine(copy))
        assert not copy.done()
    assert copy.result() is t
    assert bits(t.to_numpy()) == bits(LARGE)
    until_nobody_waits()


async def when_done(copy):
    return await copy


def test_coroutine_waits_without_blocking_the_loop(gpu, hold):
    t = sx.zeros(SMALL.shape, SMALL.dtype, device=gpu)

    async def main(held):
        copy = t.copy_from(pinned(SMALL, gpu), wait=False)
        waits = asyncio.ensure_future(when_done(copy))
        for _ in range(5):
            await asyncio.sleep(0.002)
        assert not waits.done()
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(when_done(copy), 0.01)
        held.release()
        assert await waits is t

    with hold() as held:
        asyncio.run(main(held))
    assert bits(t.to_numpy()) == bits(SMALL)


def test_coroutine_wait_raises_when_the_driver_answers_no_question(gpu, adapter, hold):
    """It would ask for ever; and it raises what a wait raises."""
    t, given = sx.zeros(SMALL.shape, SMALL.dtype, device=gpu), pinned(SMALL, gpu)
    until_nobody_waits()
    with hold() as held:
        adapter.fakegpu_async_error_next()
        copy = t.copy_from(given, wait=False)
        adapter.fakegpu_fail_queries(1)
        threading.Timer(0.1, held.release).start()
        with pytest.raises(sx.SyclError):
            asyncio.run(asyncio.wait_for(when_done(copy), 10))
