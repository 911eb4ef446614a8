# SPDX-License-Identifier: Apache-2.0
"""dpnp computes on a GPU whose device USM the host does not reach, in our memory and in its own."""

import os

import dpnp
import numpy as np
import pytest

import environments
import sycl_ext as sx

VALUES = np.linspace(0, 1, 1000, dtype="float32")
WANTED = np.sqrt(VALUES * 2 + 1)


def compute(array):
    """WANTED, by kernels of which the last one may be pending.

    dpnp 0.20 on a GPU does not order a kernel after the one before it when both work on host USM
    and its queue is out-of-order: without the waits, its own results are wrong now and then.
    """
    doubled = array * 2
    doubled.sycl_queue.wait()
    before = doubled + 1
    before.sycl_queue.wait()
    return dpnp.sqrt(before)


@pytest.fixture(params=["opencl:gpu:0", "opencl:gpu:1"])
def gpu(request):
    return sx.device(request.param)


@pytest.mark.parametrize("way", [dpnp.from_dlpack, dpnp.asarray, lambda t: sx.exchange(t, dpnp)])
@pytest.mark.parametrize("taken", [sx.from_dlpack, sx.as_tensor])
def test_dpnp_computes_in_our_memory_and_its_result_comes_back(gpu, usm_type, way, taken):
    tensor = sx.empty(VALUES.shape, usm_type=usm_type, device=gpu).copy_from(VALUES)
    result = compute(way(tensor))
    assert result.sycl_device == gpu.sycl_device
    back = taken(result)
    assert back.device is gpu
    assert back.ptr == result.__sycl_usm_array_interface__["data"][0]
    assert np.array_equal(back.to_numpy(), WANTED)


def test_from_one_gpu_to_the_other():
    first, second = sx.device("opencl:gpu:0"), sx.device("opencl:gpu:1")
    array = compute(sx.exchange(sx.as_tensor(VALUES, device=first), dpnp))
    with pytest.raises(BufferError, match="two copies, through the host.*pass copy=True"):
        sx.as_tensor(array, device=second)
    moved = sx.exchange(sx.as_tensor(array, device=second, copy=True), dpnp)
    assert moved.sycl_device == second.sycl_device
    assert np.allclose(dpnp.asnumpy(compute(moved)), np.sqrt(WANTED * 2 + 1))


def test_tiles_that_are_root_devices():
    """OpenCL makes other sub-devices each time that they are listed."""
    listed = {"OPENCL_GPU_TILES": "1", "ONEAPI_DEVICE_SELECTOR": "*:*.*"}
    code = "import sycl_ext as sx; print({d.kind for d in sx.devices()}, sx.device().id)"
    assert environments.python(code, {**os.environ, **listed}) == "{'root'} 0\n"
