# SPDX-License-Identifier: Apache-2.0
"""Memory for a library in C that has never heard of us, through the C exchange table.

On GPUs: ``environments/stand_in_gpu``; of each kind of USM: ``environments/native_backends``.
"""

import itertools

import numpy as np
import pytest

import sycl_ext as sx
from dlpack_conformance.structs import CPU, ONE_API, DLManagedTensorVersioned
from extensions import labs
from sycl_ext import _core
from waiting import all_freed, eventually

F32 = (2, 32, 1)
HERE, _, OTHER_THREAD = PLACES = range(3)  # with the GIL, without it, a thread of C


@pytest.fixture(scope="module")
def lab():
    return labs.load("allocator_lab")


@pytest.fixture
def entries(private, halves):
    return (sx.device(), private, *halves)


@pytest.mark.parametrize(("made_at", "freed_at"), [*itertools.product(PLACES, PLACES)])
def test_allocated_array_can_be_freed_from_any_thread(lab, entries, made_at, freed_at):
    def left():
        return sx.memory.live_exports(), _core._test.live_allocations()

    assert all_freed()  # what earlier tests have left would go meanwhile
    before = left()
    for device in (CPU, *((ONE_API, entry.id) for entry in entries)):
        address = lab.allocate(sx.Tensor, made_at, device, F32, (2, 3))
        managed = DLManagedTensorVersioned.from_address(address)
        tensor = managed.dl_tensor
        assert (tensor.device.device_type, tensor.device.device_id) == device
        assert (tensor.shape[:2], tensor.strides[:2]) == ([2, 3], [3, 1])
        assert (tensor.byte_offset, managed.flags) == (0, 0)
        assert tensor.data
        lab.delete_at(address, freed_at)
    assert eventually(lambda: left() == before)  # a thread in the background frees some


def test_allocated_array_becomes_a_tensor(lab, entries):
    for entry in entries:
        address = lab.allocate(sx.Tensor, OTHER_THREAD, (ONE_API, entry.id), F32, (2, 3))
        tensor = lab.to_object(sx.Tensor, address)
        assert (type(tensor), tensor.device, tensor.usm_type) == (sx.Tensor, entry, "device")
        tensor.copy_from(np.ones((2, 3), "float32"))
        assert tensor.to_numpy().sum() == 6
    address = lab.allocate(sx.Tensor, HERE, CPU, F32, (2, 3))
    assert type(lab.to_object(sx.Tensor, address)) is sx.HostView


def test_empty_and_scalar_arrays_are_allocated(lab, entries):
    for shape in ((), (0, 3)):
        for device in (CPU, (ONE_API, entries[0].id)):
            address = lab.allocate(sx.Tensor, HERE, device, F32, shape)
            assert lab.to_object(sx.Tensor, address).shape == shape


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("device", "dtype", "shape", "kind", "words"),
    [
        ((ONE_API, 999), F32, (2,), "BufferError", "there is no device 999"),
        ((ONE_API, -1), F32, (2,), "BufferError", "there is no device -1"),
        ((2, 0), F32, (2,), "BufferError", "on device (2, 0)"),
        ((3, 7), F32, (2,), "BufferError", "on device (3, 7)"),
        ((0, 0), F32, (2,), "BufferError", "on device (0, 0)"),
        (CPU, (2, 32, 2), (2,), "BufferError", "lanes 2"),
        (CPU, (99, 32, 1), (2,), "BufferError", "code 99"),
        (CPU, (2, 31, 1), (2,), "BufferError", "bits 31"),
        (CPU, F32, (-1,), "BufferError", "shape[0] is -1"),
        (CPU, F32, (1 << 40, 1 << 40), "BufferError", "exceeds the address space"),
        (CPU, F32, (1 << 48,), "MemoryError", f"{1 << 50} bytes of host memory"),
        ((ONE_API, 0), F32, (1 << 48,), "MemoryError", f"{1 << 50} bytes of 'device' USM"),
    ],
)
def test_impossible_allocation_calls_set_error_once(lab, place, device, dtype, shape, kind, words):
    """`set_error` is called once, takes the GIL, and leaves no Python exception."""
    capsule, message = lab.allocate(sx.Tensor, place, device, dtype, shape)
    assert capsule == kind
    assert words in message
