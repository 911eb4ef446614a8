# SPDX-License-Identifier: Apache-2.0
"""Rare cases that only a GPU shows: wrong devices, contexts of tiles, a last chance."""

import threading
import time
import types

import dpctl
import dpctl.memory
import pytest

import environments
import sycl_ext as sx
from dlpack_conformance.structs import DLDevice, managed_in
from producers import Table, with_table
from sycl_ext import _core

ROOM = 1 << 30


def test_export_relabelled_as_host_memory_is_refused(gpu):
    """Somebody altered it: the host would follow a pointer that it cannot."""
    capsule = sx.zeros(4, device=gpu).__dlpack__(max_version=(1, 0))
    managed_in(capsule).dl_tensor.device = DLDevice(1, 0)
    with pytest.raises(BufferError, match="labelled .* its memory is not accessible there"):
        sx.from_dlpack(capsule)


def test_producer_table_is_asked_for_the_stream_of_the_root_device(gpu, tiles):
    """Of the device in the struct, also for memory of a tile."""
    for device in (gpu, *tiles):
        table = Table(stream=gpu.sycl_queue.addressof_ref())
        taken = sx.from_dlpack(with_table(table)(sx.zeros(3, device=device)))
        assert taken.device is device
        assert table.asked == [(14, gpu.id)]


def test_host_copy_false_refuses_unless_peers(gpus, peers):
    """exchange with host_copy=False; peers need none."""
    tensor = sx.zeros(3, device=gpus[0])
    if peers:
        assert sx.exchange(tensor, gpus[1], copy=True, host_copy=False).device == gpus[1]
    else:
        with pytest.raises(sx.CopyRefusedError, match="host_copy=False"):
            sx.exchange(tensor, gpus[1], copy=True, host_copy=False)


def test_refusal_keeps_the_error_of_the_consumer_as_its_cause(gpu):
    """USM is tried first; a refusal without a way out is another error."""

    def consumer(x):
        raise NotImplementedError(x.__dlpack_device__())

    library = types.ModuleType("library_of_arrays")
    library.from_dlpack = consumer
    with pytest.raises(sx.CopyRefusedError) as caught:
        sx.exchange(sx.zeros(3, device=gpu), library, host_copy=False)
    assert isinstance(caught.value.__cause__, NotImplementedError)


def test_host_copy_that_was_refused_is_not_made_again(gpu):
    """A consumer that may refuse a view is offered a copy; here it has refused one."""
    seen = []

    def consumer(x):
        seen.append(x.__dlpack_device__())
        raise BufferError("that is not for me")

    library = types.ModuleType("library_of_arrays")
    library.from_dlpack = consumer
    with pytest.raises(BufferError, match="that is not for me"):
        sx.exchange(sx.zeros(3, device=gpu), library)
    assert seen == [(14, gpu.id), (1, 0)]


def test_memory_that_waits_for_work(gpu, adapter, hold):
    """A full device: an allocation waits for memory that is about to be freed."""
    queue = dpctl.SyclQueue(gpu.sycl_context, gpu.sycl_device, property="in_order")
    sx.memory.release_cached()
    room = ROOM - adapter.fakegpu_device_bytes()
    source = dpctl.memory.MemoryUSMHost(100, queue=queue)
    with hold() as held:
        tensor = sx.empty(room, "uint8", device=queue)
        queue.memcpy_async(dpctl.memory.as_usm_memory(tensor[:100]), source, 100)
        del tensor
        threading.Timer(0.2, held.release).start()
        assert sx.empty(room, "uint8", device=gpu).nbytes == room


def test_allocation_in_the_freeing_thread_is_refused_at_once(gpu, adapter, hold):
    """A full device: an allocation in an owner's ``__del__`` is refused at once, in that thread."""
    queue = dpctl.SyclQueue(gpu.sycl_context, gpu.sycl_device, property="in_order")
    source = dpctl.memory.MemoryUSMHost(100, queue=queue)
    refused = []

    class Owner:
        def __init__(self):
            self.memory = dpctl.memory.MemoryUSMDevice(100, queue=queue)
            self.__sycl_usm_array_interface__ = self.memory.__sycl_usm_array_interface__

        def __del__(self):
            with pytest.raises(MemoryError):
                sx.empty(2 * ROOM, "uint8", device=gpu)  # no wait can make so much room
            refused.append(threading.current_thread() is not threading.main_thread())

    with hold():
        # Each wait for room would take a second: with sixty of them the test would time out.
        tensors = [sx.as_tensor(Owner()) for _ in range(60)]
        for tensor in tensors:
            queue.memcpy_async(dpctl.memory.as_usm_memory(tensor), source, 100)
        del tensor, tensors
        assert _core._test.deferred_frees() == 60
    while _core._test.deferred_frees():
        time.sleep(0.01)
    assert refused == [True] * 60


#: Without dpnp, whose kernels make SYCL prefer the CPU to the stand-in.
TO_THIS_PACKAGE = """
import numpy as np
import sycl_ext as sx
assert sx.device().device_type == "gpu"
array = np.arange(6, dtype="f4")
for consumer in (sx, "sycl_ext", sx.as_tensor, sx.from_dlpack):
    plan, found = sx.explain(array, consumer), sx.exchange(array, consumer)
    assert (plan.copies, found.device) == (1, sx.device()), plan
    assert found.tolist() == array.tolist()
    refusal = sx.explain(array, consumer, copy=False)
    try:
        sx.exchange(array, consumer, copy=False)
    except sx.CopyRefusedError as error:
        assert str(error) == refusal.reason
        print("as planned")
"""


def test_plan_for_this_package_counts_the_copy_to_the_gpu():
    assert environments.python(TO_THIS_PACKAGE, inherit=True).count("as planned") == 4
