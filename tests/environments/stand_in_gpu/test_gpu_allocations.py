# SPDX-License-Identifier: Apache-2.0
"""Memory of a GPU for a library in C, through the C exchange table of DLPack."""

import functools
import os
import resource
import sys
import threading

import dpctl
import dpctl.memory
import numpy as np
import pytest

import sycl_ext as sx
from dlpack_conformance.structs import ONE_API, DLManagedTensorVersioned
from extensions import labs
from producers import Bytes
from sycl_ext.memory import limit, statistics

U8 = (1, 8, 1)
HERE, _, OTHER_THREAD = range(3)


@pytest.fixture(scope="module")
def lab():
    return labs.load("allocator_lab")


@pytest.mark.parametrize("place", [HERE, OTHER_THREAD])
def test_on_a_gpu_a_tile_and_in_a_private_context(lab, gpus, tiles, place):
    private = sx.register_context(dpctl.SyclContext([gpus[1].sycl_device]))
    for entry in (*gpus, private, *tiles):
        address = lab.allocate(sx.Tensor, place, (ONE_API, entry.id), U8, (100,))
        tensor = lab.to_object(sx.Tensor, address)
        assert (tensor.device, tensor.usm_type) == (entry, "device")
        numbers = np.arange(100, dtype="uint8")
        assert tensor.copy_from(numbers).to_numpy().tolist() == numbers.tolist()


def test_freed_on_another_thread_while_work_is_pending(lab, gpu, hold):
    """The block is given to nobody before the queue of the device is idle."""
    queue = gpu.sycl_queue
    nbytes = 1 << 20
    source = sx.empty(nbytes, "uint8", device=gpu)
    address = lab.allocate(sx.Tensor, HERE, (ONE_API, gpu.id), U8, (nbytes,))
    assert lab.stream(sx.Tensor, (ONE_API, gpu.id))
    pointer = DLManagedTensorVersioned.from_address(address).dl_tensor.data
    with hold() as held:
        raw = dpctl.memory.as_usm_memory(Bytes(pointer, nbytes, queue))
        event = queue.memcpy_async(raw, dpctl.memory.as_usm_memory(source), nbytes)
        lab.delete_at(address, OTHER_THREAD)
        another = lab.allocate(sx.Tensor, OTHER_THREAD, (ONE_API, gpu.id), U8, (nbytes,))
        assert DLManagedTensorVersioned.from_address(another).dl_tensor.data != pointer
        held.release()
        event.wait()
    lab.delete_at(another, OTHER_THREAD)


@pytest.fixture
def limits(gpu):
    yield functools.partial(limit, gpu)
    limit(gpu, None)


def test_callback_makes_room_on_a_full_device(gpu, adapter, limits):
    """`adapter`: where memory is limited."""
    half = 600 << 20
    cache, asked = [sx.empty(half, "uint8", device=gpu)], []

    def spill(nbytes):
        asked.append(nbytes)
        return bool(cache) and cache.pop() is not None

    limits(None, spill)
    kept = sx.empty(half, "uint8", device=gpu)
    assert asked == [half]
    with pytest.raises(MemoryError, match="out of memory"):
        sx.empty(half, "uint8", device=gpu)
    assert asked == [half, half]
    del kept


def test_work_that_does_not_end_is_waited_for_only_a_while(gpu, hold, limits):
    """The work may wait for the thread that allocates, as here."""
    calls, busy = [], sx.empty(1 << 20, "uint8", device=gpu)
    source = sx.empty(1 << 20, "uint8", usm_type="host", device=gpu)
    limits(statistics(gpu)[gpu, "device"].live_bytes, calls.append)
    with hold():
        busy.copy_from(source, wait=False)
        del busy
        with pytest.raises(
            MemoryError, match=r"sycl_ext.memory.limit allows \d+ bytes on device 1"
        ):
            sx.empty(1 << 20, "uint8", device=gpu)
    assert len(calls) == 1


def test_callback_is_not_called_while_pending_work_keeps_dropped_memory(gpu, hold, limits):
    calls, busy = [], sx.empty(1 << 20, "uint8", device=gpu)
    source = sx.empty(1 << 20, "uint8", usm_type="host", device=gpu)
    limits(statistics(gpu)[gpu, "device"].live_bytes, calls.append)
    with hold() as held:
        busy.copy_from(source, wait=False)
        del busy
        timer = threading.Timer(0.2, held.release)
        timer.start()
        sx.empty(1 << 20, "uint8", device=gpu)
        timer.join()
    assert calls == []


@pytest.mark.parametrize("place", [HERE, OTHER_THREAD])
def test_limit_counts_allocations_of_the_c_table(lab, gpu, limits, monkeypatch, place):
    """It does not look for an exception of the callback, which is reported as unraisable."""
    unraisable = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: unraisable.append(args.exc_type))
    cache = [sx.empty(1 << 20, "uint8", device=gpu)]

    def spill(nbytes):
        return cache.pop() is not None  # the second time it raises IndexError

    def allocate():
        return lab.allocate(sx.Tensor, place, (ONE_API, gpu.id), U8, (1 << 20,))

    limits(statistics(gpu)[gpu, "device"].live_bytes, spill)
    made = allocate()
    assert not cache
    kind, message = allocate()
    assert (kind, unraisable) == ("MemoryError", [IndexError])
    assert "sycl_ext.memory.limit" in message
    lab.delete_at(made, OTHER_THREAD)


@pytest.mark.parametrize("room", [1, 2])
def test_exception_of_the_callback_leaves_the_target_of_a_copy_as_it_was(gpu, limits, room):
    """The stand-in takes a descriptor for each block, and one or two of three find one."""
    target = sx.zeros(6 << 20, "uint8", device=gpu)
    source = np.ones(target.size, "uint8")
    limits(1 << 40, lambda nbytes: 1 // 0)
    sx.memory.release_cached()
    (soft, hard), held = resource.getrlimit(resource.RLIMIT_NOFILE), [os.dup(0) for _ in range(64)]
    os.close(held.pop())
    resource.setrlimit(resource.RLIMIT_NOFILE, (held[-1] + 1 + room, hard))
    try:
        target.copy_from(source)
        written = target.size  # the runtime had blocks of its own
    except ZeroDivisionError:
        written = 0
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in held:
            os.close(descriptor)
    assert target.to_numpy(copy=True).sum() == written
