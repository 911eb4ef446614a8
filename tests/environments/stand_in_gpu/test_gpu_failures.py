# SPDX-License-Identifier: Apache-2.0
"""A device that is full, and one that fails (R4).  For waits see ``ordering/sync``."""

import dpctl
import dpctl.memory
import numpy as np
import pytest

import sycl_ext as sx
from generated import alive
from samples import bits, values
from sycl_ext import _core
from waiting import blocked

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


# ---- asynchronous errors -------------------------------------------------------------------------


def test_an_asynchronous_error_of_a_third_party_command(gpu, adapter, hold):
    """It surfaces where we wait for the producer's queue."""
    queue = dpctl.SyclQueue(gpu.sycl_context, gpu.sycl_device, property="in_order")
    tensor = sx.zeros(100, "uint8", device=queue)
    source = dpctl.memory.MemoryUSMHost(100, queue=queue)
    alive()

    def export():
        with pytest.raises(sx.SyclError):
            tensor.__dlpack__()
        return True

    with hold() as held:
        adapter.fakegpu_async_error_next()
        queue.memcpy_async(dpctl.memory.as_usm_memory(tensor), source, 100)
        thread, refused = blocked(export)
        held.release()
        thread.join(60)
    assert refused
    assert bits(tensor.copy_from(WANTED).to_numpy()) == bits(WANTED)
