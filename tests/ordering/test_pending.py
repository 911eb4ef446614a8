# SPDX-License-Identifier: Apache-2.0
"""Never stale, never freed early, with kernels pending on the CPU device; see `pending`."""

import ctypes
import gc
import threading
import time

import dpctl
import dpctl.memory
import pytest
import torch

import pending
import producers
import sycl_ext as sx
from dlpack_conformance.structs import call_deleter, exchange_api, managed_in, take
from needs import needs
from pending import NBYTES, NEW, OLD, at, device, full_of, kernels_in, queue
from sycl_ext import _core
from waiting import eventually


def failing(does, check, name):
    """The cells of a way in which something is wrong."""
    result = {cell: check(name, *cell) for cell in pending.cells(does, name)}
    return {cell: problem for cell, problem in result.items() if problem}


@needs("halves", "Tensor.to_device(part)")
@pytest.mark.parametrize("name", pending.reading())
def test_read_sees_the_pending_kernel(name):
    assert failing("read", pending.check_read, name) == {}


@needs("halves", "Tensor.copy_from(a tensor of a part)")
@pytest.mark.parametrize("name", pending.writing())
def test_write_comes_after_the_pending_kernel(name):
    assert failing("write", pending.check_write, name) == {}


@pytest.mark.parametrize("name", pending.holding())
def test_dropped_memory_stays_until_the_kernel_is_done(name):
    assert failing("drop", pending.check_drop, name) == {}


def test_collector_leaves_memory_that_another_queue_uses():
    """The first tensor, which the collector meets first, knows nothing of the view's queue."""
    memory = dpctl.memory.MemoryUSMDevice(NBYTES, queue=device().sycl_queue)
    sx.as_tensor(memory).copy_from(full_of(OLD, "uint8"))
    on = queue("in-order")
    out = sx.zeros(NBYTES // 8, "int64", usm_type="host", device=on)
    on.wait()
    before = _core._test.live_allocations()
    gc.disable()
    try:
        first = sx.as_tensor(memory)
        cycle = [first, first.to_device(on)]
        cycle.append(cycle)
        with kernels_in(private=False).gate() as gate:
            kernels_in(private=False).copy(on, gate, out.ptr, first.ptr, NBYTES)
            del memory, first, cycle
            gc.collect()
            assert (
                _core._test.live_allocations() == before + 2
            )  # the block as each of the two knows it
    finally:
        gc.enable()
    on.wait()
    assert at(out.ptr) == {OLD}
    assert eventually(lambda: _core._test.live_allocations() == before)


def test_block_given_back_during_a_wait_is_not_handed_out():
    """The wait asks the queues that it knew at its beginning, and not the one of the consumer."""
    where = device()
    first, second = (
        dpctl.SyclQueue(where.sycl_context, where.sycl_device, property="in_order")
        for _ in range(2)
    )
    out = sx.zeros(NBYTES // 8, "int64", usm_type="host", device=where)
    tensor = sx.empty(NBYTES // 8, "int64", device=where)
    kernels = kernels_in(private=False)
    with kernels.gate() as earlier, kernels.gate() as later:
        consumers = [tensor.__dlpack__(stream=first, max_version=(1, 0))]
        address = managed_in(consumers[0]).dl_tensor.data  # `ptr` would expose the block for ever
        kernels.copy(first, earlier, out.ptr, address, NBYTES)
        waiter = threading.Thread(target=tensor.wait)
        waiter.start()
        time.sleep(0.1)  # for the wait to begin; one that begins later asks both queues
        consumers.append(tensor.__dlpack__(stream=second, max_version=(1, 0)))
        kernels.copy(second, later, out.ptr, address, NBYTES)
        for capsule in consumers:
            managed, versioned = take(capsule)
            call_deleter(managed, versioned=versioned)
        earlier.open()
        waiter.join(30)
        del tensor
        again = [sx.empty(NBYTES // 8, "int64", device=where) for _ in range(20)]
        taken = [t for t in again if t.ptr == address]
        later.open()
    second.wait()
    assert not taken


def as_object(managed, versioned):
    made = ctypes.c_void_p()
    assert exchange_api(sx.Tensor).to_object(managed, ctypes.byref(made)) == 0
    tensor = ctypes.cast(made.value, ctypes.py_object)
    ctypes.pythonapi.Py_DecRef(tensor)


def as_capsule(managed, versioned):
    return sx.dlpack.capsule_from_pointer(managed, versioned=versioned)


#: The ways in which code that has taken an export may give it back.
GIVE_BACK = {
    "deleter": lambda managed, versioned: call_deleter(managed, versioned=versioned),
    "C exchange table": as_object,
    "capsule": as_capsule,
    "import": lambda managed, versioned: sx.from_dlpack(as_capsule(managed, versioned)),
}


@pytest.mark.parametrize("give_back", GIVE_BACK.values(), ids=GIVE_BACK)
@pytest.mark.parametrize("stream", [None, -1])
def test_block_given_back_with_work_on_the_shared_queue_is_not_handed_out(stream, give_back):
    """The consumer names no queue, and has submitted its work to the shared queue of the device."""
    where = device()
    out = sx.zeros(NBYTES // 8, "int64", usm_type="host", device=where)
    tensor = sx.empty(NBYTES // 8, "int64", device=where)
    kernels = kernels_in(private=False)
    with kernels.gate() as gate:
        capsule = tensor.__dlpack__(stream=stream, max_version=(1, 0))
        address = managed_in(capsule).dl_tensor.data  # `ptr` would expose the block for ever
        kernels.copy(where.sycl_queue, gate, out.ptr, address, NBYTES)
        give_back(*take(capsule))
        del tensor
        again = [sx.empty(NBYTES // 8, "int64", device=where) for _ in range(20)]
        taken = [t for t in again if t.ptr == address]
        gate.open()
    where.sycl_queue.wait()
    assert not taken


def test_view_of_a_producer_without_keywords_is_complete():
    """It takes no ``stream``, so the import waits for the queue that it shows."""
    on = queue("out-of-order")
    tensor = pending.new_tensor("foreign, out-of-order", "device")
    x, address = producers.WithoutKeywords(tensor), tensor.ptr
    x.sycl_queue = on
    with kernels_in(private=False).gate() as gate:
        kernels_in(private=False).fill(on, gate, address, NBYTES, NEW)
        # Half a second: a view that comes too early is read before the kernel is let go.
        outcome = pending.run(gate, lambda: at(sx.from_dlpack(x).ptr), patience=0.5)
        on.wait()
    assert outcome == pending.Outcome(result={NEW})


@pytest.mark.parametrize("is_kept", [False, True])
def test_library_that_names_no_stream_gets_complete_memory(monkeypatch, is_kept):
    """torch with XPU takes the memory as it is (pytorch#195825), so the exchange waits."""
    monkeypatch.setattr(torch.xpu, "is_available", lambda: True)
    monkeypatch.setattr(torch, "from_dlpack", lambda x: at(x.ptr))  # as it is now
    tensor, where = sx.zeros(NBYTES // 8, "int64", device=device()), device().sycl_queue
    if is_kept:
        sx.exchange(tensor, torch)
    with kernels_in(private=False).gate() as gate:
        kernels_in(private=False).fill(where, gate, tensor.ptr, NBYTES, NEW)
        # Half a second: an exchange that does not wait ends before the kernel is let go.
        outcome = pending.run(gate, lambda: sx.exchange(tensor, torch), patience=0.5)
        where.wait()
    assert outcome == pending.Outcome(result={NEW})


def test_block_dropped_later_stays_until_later_work_is_done():
    """The queue got a marker for the first block before the work on the second one."""
    on, kernels = queue("in-order"), kernels_in(private=False)
    out = sx.zeros(NBYTES // 8, "int64", usm_type="host", device=on)
    first, second = (sx.empty(NBYTES // 8, "int64", device=on) for _ in range(2))
    with kernels.gate() as earlier, kernels.gate() as later:
        kernels.copy(on, earlier, out.ptr, first.ptr, NBYTES)
        del first
        time.sleep(0.1)  # for the marker; if it comes later, a defect goes unseen
        kernels.copy(on, later, out.ptr, second.ptr, NBYTES)
        address, live = second.ptr, _core._test.live_allocations()
        del second
        earlier.open()
        is_first_freed = eventually(lambda: _core._test.live_allocations() < live)
        again = [sx.empty(NBYTES // 8, "int64", device=on) for _ in range(20)]
        taken = [t for t in again if t.ptr == address]
        later.open()
    on.wait()
    assert is_first_freed
    assert not taken
