# SPDX-License-Identifier: Apache-2.0
"""dpnp computes while its arrays are taken: what is taken is always the result.

dpnp 0.20 itself does not wait: its own ``from_dlpack(x, copy=True)`` copies unfinished data.
"""

import ctypes

import dpctl.memory
import dpnp
import numpy as np
import pytest

import sycl_ext as sx

LENGTH = 200_000
REPETITIONS = 60


@pytest.fixture(params=[20, pytest.param(REPETITIONS, marks=pytest.mark.long)])
def repetitions(request):
    """`test_pending.py` finds a wait that is missing at the first time; this is real work."""
    return request.param


@pytest.fixture(params=["device", "shared"])
def computing(request):
    """Something that sets all of an array to a value, one kernel after another."""
    zeros = dpnp.zeros(LENGTH, dtype="int64", usm_type=request.param)
    array = dpnp.zeros_like(zeros)

    def start(value):
        for step in range(4):
            dpnp.add(zeros, -step - 1, out=array)
        dpnp.add(zeros, value, out=array)
        return array

    return start


def is_all(tensor, value):
    return bool((tensor.to_numpy() == value).all())


def copied_into(array):
    return sx.empty(LENGTH, "int64", usm_type="shared").copy_from(array)


WAYS = {
    "from_dlpack": sx.from_dlpack,
    "from_dlpack(copy=True)": lambda x: sx.from_dlpack(x, copy=True),
    "as_tensor": sx.as_tensor,
    "as_tensor(copy=True)": lambda x: sx.as_tensor(x, copy=True),
    "host_view": lambda x: sx.as_tensor(np.from_dlpack(sx.host_view(x))),
    "host_view(copy=True)": lambda x: sx.as_tensor(np.from_dlpack(sx.host_view(x, copy=True))),
    "memoryview": lambda x: sx.as_tensor(memoryview(sx.host_view(x))),
    "exchange": lambda x: sx.as_tensor(sx.exchange(x, np)),
    "exchange(copy=True)": lambda x: sx.as_tensor(sx.exchange(x, np, copy=True)),
    "copy_from": copied_into,
    "capsule": lambda x: sx.from_dlpack(
        x.__dlpack__(max_version=(1, 0), stream=sx.device().sycl_queue)
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_result_is_what_is_taken(computing, way, repetitions):
    for value in range(1, repetitions + 1):
        assert is_all(WAYS[way](computing(value)), value)


def test_later_kernels_do_not_reach_a_copy(computing, repetitions):
    for value in range(1, repetitions + 1):
        copy = sx.from_dlpack(computing(value), copy=True)
        computing(-value)
        assert is_all(copy, value)


def test_without_a_wait_the_result_is_unfinished(computing):
    """The tests above could fail: the kernels do run while the call goes on."""
    stale = 0
    address = computing(0).get_array()._pointer
    last = ctypes.c_int64.from_address(address + (LENGTH - 1) * 8)
    for value in range(1, REPETITIONS + 1):
        array = computing(value)
        stale += last.value != value
        array.sycl_queue.wait()
    assert stale > 0


def test_the_last_reference_goes_while_the_queue_works():
    """dpctl drops what a kernel has used on a thread of the runtime, which the queue waits for."""
    for _ in range(30):
        tensor = sx.zeros(1 << 18)
        memory = dpctl.memory.as_usm_memory(tensor)
        array = dpnp.ndarray(1 << 18, dtype="float32", buffer=memory)
        result = dpnp.cos(dpnp.sin(array))
        del tensor, memory, array
    assert (result.asnumpy() == 1).all()
