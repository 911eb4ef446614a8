# SPDX-License-Identifier: Apache-2.0
"""A device that is full, and one that fails (R4).  For waits see ``ordering/sync``."""

import threading

import dpctl
import dpctl.memory
import numpy as np
import pytest

import sycl_ext as sx
from dlpack_conformance.structs import managed_in
from generated import alive
from samples import bits, values
from sycl_ext import _core

PIECE = 300 << 20  # three of them fit into the GiB of a stand-in
WANTED = values(100, "uint8")


def test_a_full_device(gpu, adapter):
    """Earlier memory does not change, and freed memory can be used again."""
    used = adapter.fakegpu_device_bytes()
    tensors = []
    words = rf"{PIECE} bytes of 'device' USM on device {gpu.id} \('Fake GPU"
    for number in range(3):
        tensors.append(sx.empty(PIECE, "uint8", device=gpu))
        tensors[-1][:8].copy_from(np.full(8, number, "uint8"))
    for call in (
        lambda: sx.empty(PIECE, "uint8", device=gpu),
        lambda: sx.zeros(PIECE, "uint8", device=gpu),
        lambda: tensors[0].copy(),
        lambda: tensors[0].__dlpack__(copy=True),
        lambda: sx.from_dlpack(tensors[0], copy=True),
        lambda: sx.as_tensor(np.zeros(PIECE, "uint8"), device=gpu),
    ):
        with pytest.raises(MemoryError, match=words):
            call()
    host = sx.empty(8, "uint8", usm_type="host", device=gpu)
    for number in range(3):
        assert tensors[number][:8].to_numpy().tolist() == [number] * 8
        assert host.copy_from(tensors[number][:8]).to_numpy().tolist() == [number] * 8
    tensors.pop()
    assert sx.empty(PIECE, "uint8", device=gpu).nbytes == PIECE
    tensors.clear()
    del host
    alive()
    _core.release_cached_memory()
    assert adapter.fakegpu_device_bytes() == used


def test_small_pieces_until_it_is_full(gpu, adapter):
    """Cached memory is returned before an allocation fails."""
    del [sx.empty(4096, "uint8", device=gpu) for _ in range(1000)][:]
    sx.memory.release_cached()  # the driver's pools keep a slab from now on
    room = (1 << 30) - adapter.fakegpu_device_bytes()
    small = [sx.empty(4096, "uint8", device=gpu) for _ in range(1000)]
    del small
    assert sx.empty(room, "uint8", device=gpu).nbytes == room


# ---- each call of the runtime fails in turn ------------------------------------------------------


def scenario(gpu):
    """Something of everything."""
    tensor = sx.zeros((40, 50), "int16", device=gpu).copy_from(values((40, 50), "int16"))
    strided = sx.zeros((40, 50), "int16", device=gpu)
    strided[::2, ::-1].copy_from(tensor[1::2])
    exported = tensor.__dlpack__(copy=True, max_version=(1, 0))
    host = tensor.__dlpack__(dl_device=(1, 0))
    again = sx.from_dlpack(exported)
    on_the_cpu = tensor.to_device("opencl:cpu:0")
    return (
        bits(tensor.T.to_numpy()),
        bits(strided.to_numpy()),
        bits(again.to_numpy()),
        bits(np.asarray(sx.host_view(tensor[:, ::3]))),
        bits(on_the_cpu.to_numpy()),
        managed_in(host).dl_tensor.ndim,
    )


def test_every_call_of_the_runtime_may_fail(gpu, adapter, allocations_left):
    """An error of ours each time, nothing leaks, and the next attempt works."""
    wanted = scenario(gpu)
    live, allocations = sx.memory.live_exports(), allocations_left()
    before = adapter.fakegpu_calls()
    assert scenario(gpu) == wanted
    calls = adapter.fakegpu_calls() - before
    assert calls > 10
    errors = []
    for number in range(1, calls + 1):
        _core.release_cached_memory()
        adapter.fakegpu_fail_at(number)
        try:
            scenario(gpu)
        except (MemoryError, sx.SyclError) as error:
            errors.append(type(error))
        finally:
            adapter.fakegpu_fail_at(0)
        assert allocations_left() == allocations
        assert sx.memory.live_exports() == live
    # An allocation that fails once is tried again, and staging memory is a convenience.
    assert sx.SyclError in errors
    assert len(errors) >= calls // 2
    assert scenario(gpu) == wanted


# ---- asynchronous errors -------------------------------------------------------------------------


def test_an_asynchronous_error_of_our_own_command(gpu, adapter):
    """SyclError from the call that waits, and never the end of the process."""
    tensor = sx.zeros(100, "uint8", device=gpu)
    for call in (
        lambda: tensor.to_numpy(),
        lambda: tensor.copy_from(WANTED),
        lambda: tensor.copy(),
        lambda: tensor.__dlpack__(dl_device=(1, 0)),
        lambda: memoryview(sx.host_view(tensor)),
    ):
        alive()  # the thread that frees also asks the driver
        adapter.fakegpu_async_error_next()
        with pytest.raises(sx.SyclError, match="UR_RESULT_ERROR_DEVICE_LOST|device"):
            call()
        assert bits(tensor.copy_from(WANTED).to_numpy()) == bits(WANTED)


def test_an_asynchronous_error_of_a_third_party_command(gpu, adapter, hold):
    """It surfaces where we wait for the producer's queue."""
    queue = dpctl.SyclQueue(gpu.sycl_context, gpu.sycl_device, property="in_order")
    tensor = sx.zeros(100, "uint8", device=queue)
    source = dpctl.memory.MemoryUSMHost(100, queue=queue)
    caught = []
    alive()

    def export():
        try:
            tensor.__dlpack__()
        except sx.SyclError as error:
            caught.append(error)

    with hold() as held:
        adapter.fakegpu_async_error_next()
        queue.memcpy_async(dpctl.memory.as_usm_memory(tensor), source, 100)
        thread = threading.Thread(target=export)
        thread.start()
        thread.join(0.05)
        assert thread.is_alive()
        held.release()
        thread.join(60)
    assert caught
    assert bits(tensor.copy_from(WANTED).to_numpy()) == bits(WANTED)
