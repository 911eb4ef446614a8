# SPDX-License-Identifier: Apache-2.0
"""Virtual memory of SYCL (``expandable_segments`` of torch XPU): taken for what it is."""

import dpctl
import numpy as np
import pytest

import sycl_ext as sx
from dlpack_conformance.structs import ONE_API
from level_zero.sycl_memory import PAGE, READ, VirtualMemory
from needs import needs
from producers import Bytes, over


@pytest.fixture(autouse=True)
def imports_of_host_memory(level_zero):
    """The features that environments without a Level Zero driver lack."""
    assert level_zero


@pytest.fixture
def reserved(gpus):
    """Four pages, of which the first three are mapped, in two pieces."""
    memory = VirtualMemory(gpus[1], 4 * PAGE)
    memory.map(0, PAGE, gpus[1])
    memory.map(PAGE, 2 * PAGE, gpus[1])
    yield memory
    memory.close()


@needs("virtual_memory")
def test_virtual_memory_is_device_memory(reserved, gpus):
    gpu = gpus[1]
    for syclobj in (gpu.sycl_queue, gpu.sycl_context, dpctl.SyclQueue(gpu.sycl_device)):
        tensor = sx.as_tensor(Bytes(reserved.ptr + 10, 3 * PAGE - 10, syclobj))
        assert (tensor.device, tensor.usm_type, tensor.ptr) == (gpu, "device", reserved.ptr + 10)
    numbers = np.arange(tensor.size, dtype="uint8")
    tensor.copy_from(numbers)  # over the border of two mappings
    assert np.array_equal(tensor.to_numpy(), numbers)
    capsule = tensor.__dlpack__(max_version=(1, 3))
    again = sx.from_dlpack(capsule)
    assert (again.ptr, again.device) == (tensor.ptr, gpu)
    assert np.array_equal(np.asarray(sx.host_view(again[5:])), numbers[5:])


@needs("virtual_memory")
def test_capsule_of_virtual_memory_is_imported(reserved, gpus):
    other = sx.zeros(3 * PAGE, "uint8", device=gpus[1])
    managed = over(other, data=reserved.ptr)
    tensor = sx.from_dlpack(managed.capsule())
    assert (tensor.ptr, tensor.device) == (reserved.ptr, gpus[1])
    wrong = over(other, data=reserved.ptr, device=(ONE_API, gpus[0].id))
    with pytest.raises(BufferError, match=rf"allocated on device \(14, {gpus[1].id}\)"):
        sx.from_dlpack(wrong.capsule())


@needs("virtual_memory")
@pytest.mark.parametrize(
    ("offset", "nbytes"), [(0, 4 * PAGE), (3 * PAGE, 1), (3 * PAGE - 1, 2), (PAGE, 100 * PAGE)]
)
def test_partly_mapped_virtual_memory_is_refused(reserved, gpus, offset, nbytes):
    with pytest.raises(BufferError, match="not all of them are mapped"):
        sx.as_tensor(Bytes(reserved.ptr + offset, nbytes, gpus[1].sycl_queue))


@needs("virtual_memory")
def test_hole_between_two_mappings_is_refused(gpu):
    memory = VirtualMemory(gpu, 3 * PAGE)
    memory.map(0, PAGE, gpu)
    memory.map(2 * PAGE, PAGE, gpu)
    with pytest.raises(BufferError, match="not all of them are mapped"):
        sx.as_tensor(Bytes(memory.ptr, 3 * PAGE, gpu.sycl_queue))
    assert sx.as_tensor(Bytes(memory.ptr + 2 * PAGE, PAGE, gpu.sycl_queue)).nbytes == PAGE
    memory.close()


@needs("virtual_memory")
def test_memory_that_is_only_read(gpu):
    memory = VirtualMemory(gpu, PAGE)
    memory.map(0, PAGE, gpu, READ)
    assert sx.as_tensor(Bytes(memory.ptr, PAGE, gpu.sycl_queue)).to_numpy().nbytes == PAGE
    memory.close()
