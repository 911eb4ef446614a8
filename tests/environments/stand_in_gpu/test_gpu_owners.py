# SPDX-License-Identifier: Apache-2.0
"""The owner of a bare pointer, by the current knowledge of the runtime."""

import contextlib
import ctypes
import functools
import time

import dpctl
import dpctl.memory
import numpy as np
import pytest

import sycl_ext as sx
from producers import Managed
from sycl_ext import _core
from waiting import eventually

NBYTES = 1 << 20


@pytest.fixture
def private(gpu):
    return sx.register_context(dpctl.SyclContext([gpu.sycl_device]))


def at(address, nbytes=NBYTES):
    """Host memory at an address, which nobody reads."""
    return np.ctypeslib.as_array((ctypes.c_uint8 * nbytes).from_address(address))


class AddressTakenError(Exception):
    """An address was not given out again: somebody else may have got it."""


def give_back():
    """Free dropped memory, as soon as the work on it is done."""
    assert eventually(lambda: not _core._test.deferred_frees())
    sx.memory.release_cached()


def until_an_address_comes_again(test):
    """Repeat a test with other addresses."""

    @functools.wraps(test)
    def repeated(*arguments, **keywords):
        for _ in range(10):
            with contextlib.suppress(AddressTakenError):
                return test(*arguments, **keywords)
        pytest.fail("no address was given out again")

    return repeated


def made_at(address, queue, make=None):
    """A block, of somebody else if `make` does not say how, where one was freed a moment ago.

    It is freed when the work on it is done, which may be later; and an allocator may keep an
    address for a while, so that others are taken until it comes.
    """
    for _ in range(40):
        made = []
        for _ in range(100):
            made.append(make() if make else dpctl.memory.MemoryUSMShared(NBYTES, queue=queue))
            if dpctl.memory.as_usm_memory(made[-1])._pointer == address:
                return made[-1]
        del made[:]
        give_back()
        time.sleep(0.05)
    raise AddressTakenError


@until_an_address_comes_again
def test_memory_at_the_address_of_a_freed_private_block(gpu, private):
    tensor = sx.zeros(NBYTES, "uint8", usm_type="shared", device=private)
    address = tensor.ptr
    assert sx.as_tensor(at(address)).device is private
    assert sx.as_tensor(at(address)[NBYTES // 2 :]).device is private
    del tensor
    give_back()
    block = made_at(address, gpu.sycl_queue)
    for array in (np.asarray(block), np.asarray(block)[NBYTES // 2 :]):
        result = sx.as_tensor(array, device=gpu, copy=False)
        assert (result.device, result.usm_type) == (gpu, "shared")
        result.__dlpack__(copy=False)


@until_an_address_comes_again
def test_memory_at_the_address_of_a_borrowed_private_block(gpu, private):
    block = dpctl.memory.MemoryUSMShared(NBYTES, queue=private.sycl_queue)
    address = block._pointer
    tensor = sx.as_tensor(block)
    assert tensor.device is sx.as_tensor(at(address)[100:]).device is private
    del tensor, block
    block = made_at(address, gpu.sycl_queue)
    assert sx.as_tensor(np.asarray(block), device=gpu, copy=False).device is gpu


def test_host_array_that_ends_beyond_usm_is_refused_with_a_way_out(gpu):
    """No one command copies it, and a device that cannot read host memory has no view of it."""
    memory = dpctl.memory.MemoryUSMShared(64, queue=gpu.sycl_queue)
    np.asarray(memory)[:] = range(64)
    managed = Managed(memory._pointer, (17,), keep=memory)
    words = r"starts at .* in USM, but its 68 bytes extend beyond.*copy it on the host.*numpy.array"
    with pytest.raises(BufferError, match=words):
        sx.from_dlpack(managed.capsule(), device=gpu)
    assert managed.deleted == 1
    beyond = at(memory._pointer, 68)  # the rest of the page can be read
    with pytest.raises(BufferError, match=words):
        sx.as_tensor(beyond, device=gpu)
    result = sx.as_tensor(np.array(beyond), device=gpu)
    assert result.to_numpy()[:64].tolist() == list(range(64))
