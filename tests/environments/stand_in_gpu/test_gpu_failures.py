# SPDX-License-Identifier: Apache-2.0
"""A device that is full, and one that fails (R4).  For waits see ``ordering/sync``."""

import dpctl
import dpctl.memory
import numpy as np
import pytest

import environments
import sycl_ext as sx
from generated import alive
from samples import bits, values
from waiting import blocked

PIECE = 300 << 20  # three of them fit into the GiB of a stand-in
WANTED = values(100, "uint8")


def test_full_device_is_a_memory_error_and_recovers(gpu, adapter):
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
    sx.memory.release_cached()
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


def test_asynchronous_error_of_a_third_party_command_is_raised(gpu, adapter, hold):
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


@pytest.mark.parametrize("is_noted", [False, True], ids=["a marker", "a noted event"])
def test_wait_behind_a_failed_command_of_an_out_of_order_queue_ends(adapter, is_noted):
    """Level Zero v1 reports the failed command, and a marker behind it, as submitted for ever."""
    environments.python(
        f"""
import os, threading
import dpctl, dpctl.memory, dpctl.utils
import sycl_ext as sx
from level_zero import control

gpu = next(d for d in sx.devices() if d.device_type == "gpu")
queue = dpctl.SyclQueue(gpu.sycl_context, gpu.sycl_device)
tensor = sx.zeros(100, "uint8", device=queue)
memory, source = dpctl.memory.as_usm_memory(tensor), dpctl.memory.MemoryUSMHost(100, queue=queue)
driver = control.loaded()
driver.fakegpu_set_delay_us(20_000_000)
driver.fakegpu_async_error_next()
event = queue.memcpy_async(memory, source, 100)
if {is_noted}:
    dpctl.utils.SequentialOrderManager[queue].add_event_pair(event, event)
ends = []

def export():
    try:
        tensor.__dlpack__()
    except sx.SyclError:
        ends.append("raised")
    else:  # a thread of the runtime, which waits for dpctl, was told of the failure
        ends.append("returned")

thread = threading.Thread(target=export, daemon=True)
thread.start()
thread.join(1.2)  # the queue is asked for a second before it gets a marker
assert not ends, ends
driver.fakegpu_set_delay_us(0)
thread.join(30)
assert ends
os._exit(0)  # dpctl ends the process when it is told of the failure
""",
        inherit=True,
    )
