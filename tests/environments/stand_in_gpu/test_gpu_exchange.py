# SPDX-License-Identifier: Apache-2.0
"""`exchange` with memory that the host cannot reach."""

import numpy as np
import pytest

import sycl_ext as sx

VALUES = np.arange(6, dtype="float32")


def usm():
    return sx.empty(6, "float32", device="gpu").copy_from(VALUES)


def test_a_consumer_of_usm_gets_it_as_it_is():
    tensor = usm()
    for arguments in ({}, {"copy": False}, {"host_copy": False}):
        assert sx.exchange(tensor, sx, **arguments).ptr == tensor.ptr


def test_a_consumer_of_host_memory_gets_one_copy():
    assert sx.explain(usm(), np).copies == 1
    assert np.array_equal(sx.exchange(usm(), np), VALUES)


@pytest.mark.parametrize("arguments", [{"copy": False}, {"host_copy": False}])
def test_unless_that_is_forbidden(arguments):
    ((name, _),) = arguments.items()
    for consumer in (np, memoryview):
        with pytest.raises(sx.CopyRefusedError, match=rf"{name}=False.*host cannot reach"):
            sx.exchange(usm(), consumer, **arguments)


def test_what_a_consumer_said_is_not_lost():
    """USM is tried first; a refusal without a way out is another error."""

    def consumer(x):
        raise NotImplementedError(x.__dlpack_device__())

    with pytest.raises(sx.CopyRefusedError) as caught:
        sx.exchange(usm(), consumer, host_copy=False)
    assert isinstance(caught.value.__cause__, NotImplementedError)


def test_a_result_of_the_host_on_a_device(gpus, cpu):
    """In the other direction."""
    for device in (*gpus, cpu):
        back = sx.exchange(np.sqrt(sx.exchange(usm(), np)), device.filter_string)
        assert back.device is device
        assert np.array_equal(back.to_numpy(), np.sqrt(VALUES))
