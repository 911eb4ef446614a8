# SPDX-License-Identifier: Apache-2.0
"""Memory of a GPU for a library in C, through the C exchange table of DLPack."""

import dpctl
import dpctl.memory
import numpy as np
import pytest

import sycl_ext as sx
from extensions import labs
from sycl_ext import _core
from sycl_ext.testing.structs import ONE_API, DLManagedTensorVersioned

U8 = (1, 8, 1)
HERE, _, OTHER_THREAD = range(3)


@pytest.fixture(scope="module")
def lab():
    return labs.load("allocator_lab")


class Raw:
    """Device memory that SYCL code has as a pointer, with the queue that it works on."""

    def __init__(self, pointer, nbytes, queue):
        self.__sycl_usm_array_interface__ = {
            "data": (pointer, False),
            "shape": (nbytes,),
            "strides": None,
            "typestr": "|u1",
            "version": 1,
            "syclobj": queue,
        }


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
        raw = dpctl.memory.as_usm_memory(Raw(pointer, nbytes, queue))
        event = queue.memcpy_async(raw, dpctl.memory.as_usm_memory(source), nbytes)
        lab.delete_at(address, OTHER_THREAD)
        another = lab.allocate(sx.Tensor, OTHER_THREAD, (ONE_API, gpu.id), U8, (nbytes,))
        assert DLManagedTensorVersioned.from_address(another).dl_tensor.data != pointer
        held.release()
        event.wait()
    lab.delete_at(another, OTHER_THREAD)


def test_a_full_device(lab, gpu, adapter):  # adapter: where memory is limited
    """Each failure is told once; what was made before it can be freed and had again."""
    size = 64 << 20
    for _ in range(2):
        made = []
        while not isinstance(
            found := lab.allocate(sx.Tensor, OTHER_THREAD, (ONE_API, gpu.id), U8, (size,)), tuple
        ):
            made.append(found)
            assert len(made) < 1000
        kind, message = found
        assert kind == "MemoryError"
        assert f"{size} bytes of 'device' USM on device {gpu.id}" in message
        assert made
        for address in made:
            lab.delete_at(address, OTHER_THREAD)
        _core.release_cached_memory()
