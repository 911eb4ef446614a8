# SPDX-License-Identifier: Apache-2.0
"""Queues that record a SYCL graph: nothing waits for them, and no node is added to the graph."""

import dpctl
import numpy as np
import pytest

import sycl_ext as sx
from dlpack_conformance.structs import call_deleter, managed_in, take
from graphs import recording
from kernels import Kernels
from sycl_ext import _core
from waiting import eventually

RECORDS = "is recording a SYCL graph"


@pytest.fixture(params=["in_order", "out_of_order"])
def queue(request):
    return dpctl.SyclQueue(property=["in_order"] if request.param == "in_order" else [])


def test_export_to_a_recording_queue_is_refused_with_pending_work(queue):
    producer = dpctl.SyclQueue(property="in_order")
    tensor = sx.zeros(125, "int64", device=producer)
    kernels = Kernels(producer)
    with kernels.gate() as gate, recording(queue) as nodes:
        kernels.fill(producer, gate, tensor.ptr, 1000, 7)
        with pytest.raises(BufferError, match=f"{RECORDS}, .*pending work.*stream=None"):
            tensor.__dlpack__(stream=queue)
        tensor.__dlpack__(stream=-1)
        gate.open()
        tensor.__dlpack__()  # waits for the work, of which the graph knows nothing
        for stream in (queue, queue.addressof_ref()):
            assert sx.from_dlpack(tensor.__dlpack__(stream=stream)).ptr == tensor.ptr
        assert nodes() == 0
    assert tensor.to_numpy().tolist() == [7] * 125


def test_tensor_of_a_recording_queue_refuses_reads_and_writes(queue):
    tensor, other = sx.zeros(10, device=queue), sx.zeros(10)
    assert tensor.sycl_queue == queue
    calls = {
        "export": lambda: tensor.__dlpack__(),
        "export to a queue": lambda: tensor.__dlpack__(stream=other.sycl_queue),
        "copy to the host": lambda: tensor.to_numpy(copy=True),
        "view": lambda: tensor.to_numpy(),
        "buffer": lambda: memoryview(tensor),
        "copy_from": lambda: tensor.copy_from(np.ones(10, "float32")),
        "copy that goes on": lambda: tensor.copy_from(other, wait=False),
        "copy of it that goes on": lambda: other.copy_from(tensor, wait=False),
    }
    with recording(queue) as nodes:
        for name, call in calls.items():
            with pytest.raises(BufferError, match=f"{RECORDS}.*end the recording first"):
                call()
            assert nodes() == 0, name
        assert sx.from_dlpack(tensor.__dlpack__(stream=-1)).ptr == tensor.ptr
        if queue.is_in_order:  # later nodes come after it
            tensor.__dlpack__(stream=queue)
        other.copy_from(np.ones(10, "float32"))  # nobody else records
        assert nodes() == 0
    tensor.copy_from(other)
    assert tensor.to_numpy().tolist() == [1] * 10


def test_drop_while_its_queue_records_adds_no_node(queue):
    with recording(queue) as nodes:
        tensor = sx.empty(10, device=queue)
        del tensor
        assert nodes() == 0


def test_drop_with_pending_work_while_its_queue_records_is_deferred(queue):
    tensor = sx.zeros(125, "int64", device=queue)
    address, kernels, before = tensor.ptr, Kernels(queue), _core._test.live_allocations()
    with kernels.gate() as gate:
        kernels.fill(queue, gate, address, 1000, 7)
        with recording(queue) as nodes:
            del tensor
            sx.memory.release_cached()  # looks at dropped memory
            assert _core._test.live_allocations() == before
            assert nodes() == 0
        sx.memory.release_cached()
        assert _core._test.live_allocations() == before
    queue.wait()
    assert eventually(lambda: _core._test.live_allocations() == before - 1)


def test_work_between_two_recordings_of_a_queue_keeps_the_block(queue):
    """The queue was named while it recorded, when it had no work, and again before the kernel."""
    tensor = sx.empty(125, "int64", device=sx.device())
    kernels = Kernels(queue)
    with recording(queue):
        capsules = [tensor.__dlpack__(stream=queue, max_version=(1, 0))]
    address = managed_in(capsules[0]).dl_tensor.data  # `ptr` would expose the block for ever
    with kernels.gate() as gate:
        capsules.append(tensor.__dlpack__(stream=queue, max_version=(1, 0)))
        kernels.fill(queue, gate, address, 1000, 7)
        with recording(queue):
            for capsule in capsules:
                managed, versioned = take(capsule)
                call_deleter(managed, versioned=versioned)
            del tensor
            again = [sx.empty(125, "int64", device=sx.device()) for _ in range(20)]
            taken = [t for t in again if t.ptr == address]
        gate.open()
    queue.wait()
    assert not taken
