# SPDX-License-Identifier: Apache-2.0
"""Work on a queue that a program has read from a tensor, and no longer holds."""

import dpctl.memory
import pytest

import sycl_ext as sx
from dlpack_conformance.structs import managed_in
from waiting import blocked
from ways import Described

READS = {
    "__dlpack__": lambda t: t.__dlpack__(max_version=(1, 3)),
    "to_numpy": lambda t: t.to_numpy(),
    "wait": lambda t: t.wait(),
}


@pytest.mark.parametrize("read", READS)
@pytest.mark.parametrize("holds", [True, False])
def test_read_waits_for_work_on_a_queue_that_was_read(gpu, hold, read, holds):
    """The program keeps an address from an export that is gone."""
    t = sx.zeros(100, "uint8", device=gpu)
    address = managed_in(t.__dlpack__(stream=-1, max_version=(1, 0))).dl_tensor.data
    source = dpctl.memory.MemoryUSMHost(100, queue=gpu.sycl_queue)
    queue = t.sycl_queue
    fields = {
        "data": (address, False),
        "shape": (100,),
        "strides": None,
        "typestr": "|u1",
        "version": 1,
        "syclobj": queue,
    }
    target = dpctl.memory.as_usm_memory(Described(fields, None))
    t.__dlpack__(max_version=(1, 3))  # a question while the queue is idle, and held
    with hold() as held:
        event = queue.memcpy_async(target, source, 100)
        fields.clear()
        if not holds:
            del queue
        thread, _ = blocked(lambda: READS[read](t))
        held.release()
        thread.join(60)
    event.wait()


class HostLabelled:
    """A producer that works on USM of this package, and labels it as memory of the host."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        return self.tensor.__dlpack__(dl_device=(1, 0), max_version=(1, 0))


def test_read_waits_for_work_of_a_producer_that_labels_usm_as_the_hosts(gpu, hold):
    """It works on the memory itself, on the queue of the device, and holds no export."""
    t = sx.zeros(100, "uint8", usm_type="shared", device=gpu)
    taken = sx.as_tensor(HostLabelled(t))
    assert taken.usm_type == "shared"
    fields = {
        "data": (sx.host_view(t).ptr, False),
        "shape": (100,),
        "strides": None,
        "typestr": "|u1",
        "version": 1,
        "syclobj": gpu.sycl_queue,
    }
    target = dpctl.memory.as_usm_memory(Described(fields, None))
    source = dpctl.memory.MemoryUSMHost(100, queue=gpu.sycl_queue)
    source.memset(7)
    with hold() as held:
        event = fields["syclobj"].memcpy_async(target, source, 100)
        thread, read = blocked(lambda: taken.to_numpy().copy())
        held.release()
        thread.join(60)
    event.wait()
    assert set(read[0].tolist()) == {7}
