# SPDX-License-Identifier: Apache-2.0
"""Device USM of a private context, which on OpenCL no command copies to another context."""

import types

import dpctl
import dpctl.memory
import numpy as np
import pytest

import sycl_ext as sx
from dlpack_conformance.structs import managed_in

VALUES = np.arange(6, dtype="float32")


@pytest.fixture(scope="module")
def private():
    return sx.register_context(dpctl.SyclContext([sx.device("opencl:gpu:0").sycl_device]))


def tensor_in(private):
    """No fixture: pytest holds those until the test's leaks have been counted."""
    return sx.as_tensor(VALUES, device=private, copy=True)


@pytest.mark.parametrize("consumer", [np, np.from_dlpack, np.asarray])
def test_host_consumers_get_one_copy(private, consumer):
    """The search continues although a consumer of USM cannot have the memory."""
    tensor = tensor_in(private)
    assert sx.explain(tensor, consumer).copies == 1
    assert np.array_equal(np.asarray(sx.exchange(tensor, consumer)), VALUES)


@pytest.mark.parametrize("consumer", [np, np.from_dlpack, np.asarray])
@pytest.mark.parametrize("name", ["copy", "host_copy"])
def test_unless_that_is_forbidden(private, consumer, name):
    tensor = tensor_in(private)
    with pytest.raises(sx.CopyRefusedError, match=f"{name}=False.*host cannot access"):
        sx.exchange(tensor, consumer, **{name: False})


@pytest.mark.parametrize("consumer", [sx, sx.from_dlpack, sx.as_tensor, dpctl])
def test_context_aware_consumer_gets_a_view(private, consumer):
    tensor = tensor_in(private)
    for arguments in ({}, {"copy": False}, {"host_copy": False}):
        result = sx.exchange(tensor, consumer, **arguments)
        assert sx.as_tensor(result).ptr == tensor.ptr
    assert sx.explain(tensor, consumer).copies == 0


def test_consumer_of_default_contexts_needs_two_copies(private):
    """It takes two copies, through the host, which have to be asked for."""
    tensor = tensor_in(private)

    library = types.ModuleType("library_without_host_memory")

    def from_dlpack(x):
        device, _ = x.__dlpack_device__()
        if device != 14:
            raise RuntimeError("no host memory")
        managed = managed_in(x.__dlpack__(max_version=(1, 0)))
        return managed.flags, managed.dl_tensor.data, x

    library.from_dlpack = from_dlpack
    assert sx.explain(tensor, library, copy=True).copies == 2
    flags, address, given = sx.exchange(tensor, library, copy=True)
    assert (flags, address) == (0, given.ptr)
    assert given.device is sx.device("opencl:gpu:0")
    assert np.array_equal(given.to_numpy(), VALUES)
    with pytest.raises(sx.ExchangeError, match="no host memory"):
        sx.exchange(tensor, library)


def test_two_private_contexts(private):
    """Neither does a command copy between these."""
    tensor = tensor_in(private)
    device = sx.device("opencl:gpu:0").sycl_device
    other = sx.register_context(dpctl.SyclContext([device]))
    assert sx.explain(tensor, other).copies == 0
    for call in (sx.as_tensor, sx.from_dlpack, sx.exchange):
        arguments = {} if call is sx.exchange else {"device": other}
        place = (other,) if call is sx.exchange else ()
        for copy in (None, False):
            with pytest.raises(BufferError, match="pass copy=True"):
                call(tensor, *place, copy=copy, **arguments)
        moved = call(tensor, *place, copy=True, **arguments)
        assert moved.device is other
        assert np.array_equal(moved.to_numpy(), VALUES)
