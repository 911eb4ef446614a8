# SPDX-License-Identifier: Apache-2.0
"""A device of 64 MB, 16 MB at most in one piece: every allocation that fails says so.

This device checks each block by itself; the stand-in GPU is the device that fills up.
"""

import numpy as np
import pytest

import sycl_ext as sx
import ways
from dlpack_conformance.structs import ONE_API
from extensions import labs
from ways import WAYS, Tag

TOO_MUCH = 100 << 20
ROOM = 1 << 20


def system():
    """Host memory that is larger than the device."""
    return sx.as_tensor(np.zeros(TOO_MUCH, "uint8"))


CALLS = {
    "empty": lambda kind: sx.empty(TOO_MUCH, "uint8", usm_type=kind),
    "zeros": lambda kind: sx.zeros((TOO_MUCH // 8,), "float64", usm_type=kind),
    "empty of the largest piece": lambda kind: sx.empty(20 << 20, "uint8", usm_type=kind),
    "empty on a queue": lambda kind: sx.empty(
        TOO_MUCH, "uint8", usm_type=kind, device=sx.device().sycl_queue
    ),
}
#: Ways that copy an array to a device where it does not fit; an export of host memory also does.
COPIES = ["Tensor.__dlpack__", *ways.tagged(Tag.ALLOCATES)]


@pytest.mark.parametrize("call", CALLS)
def test_allocation(call, usm_type):
    with pytest.raises(MemoryError, match=rf"\d+ bytes of '{usm_type}' USM on device 0 \("):
        CALLS[call](usm_type)
    assert sx.zeros(ROOM, "uint8", usm_type=usm_type).to_numpy().max() == 0


@pytest.mark.parametrize("name", COPIES)
def test_copies(name):
    live = sx.memory.live_exports()
    with pytest.raises(MemoryError, match=rf"{TOO_MUCH} bytes of '\w+' USM on device \d"):
        WAYS[name].call(system())
    assert sx.memory.live_exports() == live
    assert sx.zeros(ROOM, "uint8").to_numpy().max() == 0


def test_views_need_no_memory():
    tensor = sx.as_tensor(np.zeros(TOO_MUCH, "uint8"))
    assert tensor[::2].T.reshape(-1, 4).nbytes == TOO_MUCH // 2
    assert sx.host_view(tensor).ptr == tensor.ptr
    assert sx.from_dlpack(sx.host_view(tensor)).ptr == tensor.ptr


def test_c_table_allocation_beyond_the_memory_is_a_memory_error():
    """Through the C exchange table of DLPack."""
    lab = labs.load("allocator_lab")
    device = (ONE_API, sx.device().id)
    kind, message = lab.allocate(sx.Tensor, 2, device, (1, 8, 1), (TOO_MUCH,))
    assert (kind, f"{TOO_MUCH} bytes of 'device' USM" in message) == ("MemoryError", True)
