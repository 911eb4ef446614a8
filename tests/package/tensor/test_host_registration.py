# SPDX-License-Identifier: Apache-2.0
"""`register_host`: what it takes, holds and refuses."""

import mmap

import numpy as np
import pytest
import torch

import sycl_ext as sx
from sycl_ext.memory import register_host


@pytest.mark.parametrize(
    ("make", "nbytes"),
    [
        (lambda: np.arange(10), 80),
        (lambda: np.arange(10)[::-2], 72),
        (lambda: np.arange(12).reshape(3, 4).T[1:], 88),
        (lambda: np.broadcast_to(np.float32(1), (5, 5)), 4),
        (lambda: np.zeros((3, 0)), 0),
        (lambda: bytearray(100), 100),
        (lambda: b"read-only", 9),
        (lambda: memoryview(bytearray(100))[10:], 90),
        (lambda: mmap.mmap(-1, 5000), 5000),
        (lambda: torch.zeros(3, 3), 36),
        (lambda: sx.host_view(sx.zeros(3)), 12),
        (lambda: sx.zeros(3, usm_type="host"), 12),
    ],
)
def test_registered_memory_is_closed_with_its_block(make, nbytes):
    with register_host(make()) as registration:
        assert registration.nbytes == nbytes
        assert not registration.closed
        # On a CPU device copies are the host's: nothing is registered, and it says so.
        cpu = sx.device("opencl:cpu:0")
        assert registration.registered[cpu] is False
        assert list(registration.registered) == [d for d in sx.devices() if d.kind == "root"]
    assert registration.closed
    assert "closed" in repr(registration)
    registration.close()


@pytest.mark.parametrize("wrong", [None, 3, "text", [1, 2], object()])
def test_object_without_memory_is_refused(wrong):
    with pytest.raises((TypeError, BufferError)):
        register_host(wrong)


def test_registration_holds_the_memory():
    memory = mmap.mmap(-1, 4096)
    with register_host(memory), pytest.raises(BufferError, match="exported pointers exist"):
        memory.close()
    memory.close()
    data = bytearray(10)
    registration = register_host(data)
    with pytest.raises(BufferError):
        data.append(1)
    del registration
    data.append(1)

    class Pooled(np.ndarray):
        def __del__(self):
            register_host(self.base).close()
            data.clear()

    register_host(np.zeros(9).view(Pooled)).close()
    assert not data


def test_ranges_that_overlap():
    array = np.zeros(1000, "uint8")
    with register_host(array[100:200]) as middle:
        for region in (array, array[:101], array[199:], array[99:200], array[100:201]):
            with pytest.raises(BufferError, match="overlap 100 bytes .* close that registration"):
                register_host(region)
        with register_host(array[100:200]), register_host(array[150:151]):
            middle.close()
            with pytest.raises(BufferError, match="overlap"):
                register_host(array)
        with register_host(array[:100]), register_host(array[200:]), register_host(array[100:200]):
            pass
    register_host(array).close()


def test_copies_through_memory_of_the_user():
    tensor, array = sx.zeros((2, 3)), np.ones((2, 3), "float32")
    with sx.staged(tensor, "w", memory=array) as staged:
        assert np.asarray(staged).ctypes.data == array.ctypes.data
    assert tensor.to_numpy().all()
    with sx.staged(tensor, "r", memory=np.zeros((2, 3), "float32")) as staged:
        assert np.asarray(staged).all()
        assert not np.asarray(staged).flags.writeable
    transposed = np.zeros((3, 2), "float32").T
    with sx.staged(tensor, memory=transposed):
        assert transposed.all()
    for wrong in (np.zeros(6, "float32"), np.zeros((2, 3))):
        with pytest.raises(ValueError, match="differs in shape or dtype"):
            sx.staged(tensor, memory=wrong).__enter__()
    array.flags.writeable = False
    with pytest.raises(BufferError, match="readonly=True"):
        sx.staged(tensor, "r", memory=array).__enter__()


@pytest.mark.parametrize("region", [slice(None), slice(9, -9), slice(9, None)])
@pytest.mark.parametrize("usm_type", ["device", "host"])
def test_close_waits_for_copies_of_memory_that_no_driver_registered(region, usm_type):
    """The copy reads the range, a part of it, or more than it."""
    source = np.ones(1 << 22, "float32")
    tensor = sx.empty(source.size, usm_type=usm_type)
    for _ in range(20):
        source[:] = 1
        with register_host(source[region]):
            copy = tensor.copy_from(source, wait=False)
        source[:] = 2
        copy.wait()
        assert (tensor.to_numpy() == 1).all()
