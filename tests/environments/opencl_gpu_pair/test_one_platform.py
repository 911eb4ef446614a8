# SPDX-License-Identifier: Apache-2.0
"""Two GPUs of one OpenCL platform, which share its default context.

The adapter cannot say which of them memory is on, nor whether one reaches the memory of the other.
The tests also run on the two GPUs of Intel's real OpenCL driver, where copies move no data.
"""

import os

import dpctl
import dpctl.memory
import dpnp
import numpy as np
import pytest

import sycl_ext as sx

KINDS = {
    "device": dpctl.memory.MemoryUSMDevice,
    "shared": dpctl.memory.MemoryUSMShared,
    "host": dpctl.memory.MemoryUSMHost,
}
#: Whether copies move data.
COPIES = os.environ["SYCL_EXT_ENVIRONMENT"] != "neo_opencl"


class Interface:
    """An object with nothing but the interface of a tensor, and perhaps another `syclobj`."""

    def __init__(self, tensor, syclobj=None):
        self.owner = tensor
        self.__sycl_usm_array_interface__ = {
            **tensor.__sycl_usm_array_interface__,
            **({} if syclobj is None else {"syclobj": syclobj}),
        }


@pytest.fixture(scope="module")
def gpus():
    gpu_devices = [device for device in sx.devices() if device.device_type == "gpu"]
    assert len(gpu_devices) == 2
    assert gpu_devices[0].sycl_context == gpu_devices[1].sycl_context
    return gpu_devices


@pytest.fixture(params=[0, 1], ids=["first", "second"])
def gpu(request, gpus):
    return gpus[request.param]


def filled(device, usm_type):
    tensor = sx.empty(6, "int32", device=device, usm_type=usm_type)
    tensor.copy_from(np.arange(6, dtype="int32"))
    return tensor


@pytest.mark.parametrize("usm_type", KINDS)
def test_memory_of_dpctl_is_on_the_device_of_its_queue(gpu, usm_type):
    memory = KINDS[usm_type](64, queue=gpu.sycl_queue)
    tensor = sx.as_tensor(memory)
    assert (tensor.device, tensor.usm_type) == (gpu, usm_type)


@pytest.mark.parametrize("usm_type", KINDS)
def test_dpnp_array_is_on_the_device_of_its_queue(gpu, usm_type):
    array = dpnp.empty(6, dtype="int32", usm_type=usm_type, sycl_queue=gpu.sycl_queue)
    for take in (sx.from_dlpack, sx.as_tensor):
        tensor = take(array)
        # the device of host USM is the first one of its context for DLPack
        assert tensor.device == gpu or usm_type == "host"
        assert tensor.ptr == array.get_array()._pointer


@pytest.mark.parametrize("usm_type", ["device", "shared"])
def test_memory_without_a_queue_is_on_the_device_that_the_driver_names(gpu, usm_type):
    tensor = sx.empty(6, device=gpu, usm_type=usm_type)
    assert sx.as_tensor(Interface(tensor, gpu.sycl_context)).device == gpu


@pytest.mark.parametrize("usm_type", ["device", "shared"])
def test_wrong_claim_of_a_device_is_refused(gpus, usm_type):
    first, second = gpus
    for place, claimed in ((first, second), (second, first)):
        tensor = sx.empty(6, device=place, usm_type=usm_type)
        with pytest.raises(BufferError, match=rf"was allocated on device \(14, {place.id}\)"):
            sx.as_tensor(Interface(tensor, claimed.sycl_queue))


@pytest.mark.parametrize("usm_type", KINDS)
def test_capsule_keeps_device_and_address(gpu, usm_type):
    tensor = sx.empty(6, device=gpu, usm_type=usm_type)
    assert tensor.__dlpack_device__() == (14, gpu.id)
    taken = sx.from_dlpack(tensor.__dlpack__())
    assert (taken.device, taken.ptr) == (gpu, tensor.ptr)


@pytest.mark.parametrize("copy", [None, False])
def test_copy_between_gpus_is_refused_unless_asked_for(gpus, copy):
    source, target = gpus
    tensor = sx.empty(6, device=source)
    plan = sx.explain(tensor, target, copy=copy)
    assert plan.route is sx.Route.REFUSE
    with pytest.raises(BufferError, match="copy=True"):
        tensor.to_device(target, copy=copy)
    with pytest.raises(BufferError, match="copy=True"):
        sx.exchange(tensor, target, copy=copy)


@pytest.mark.parametrize("usm_type", KINDS)
def test_copy_between_gpus_has_the_elements(gpus, usm_type):
    for source, target in (gpus, gpus[::-1]):
        tensor = filled(source, usm_type)
        for copied in (
            tensor.to_device(target, copy=True),
            sx.exchange(tensor, target, copy=True),
            sx.from_dlpack(tensor, device=target, copy=True),
            sx.exchange(tensor, [target], copy=True),
        ):
            assert copied.device == target
            assert not COPIES or copied.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("to", KINDS)
@pytest.mark.parametrize("usm_type", KINDS)
def test_copy_between_kinds_of_two_gpus_ends(gpus, usm_type, to, wait):
    """A command for memory of both GPUs would never end: the driver waits for itself."""
    for source, target in (gpus, gpus[::-1]):
        tensor = filled(source, usm_type)
        copied = sx.zeros(6, "int32", device=target, usm_type=to)
        copy = copied.copy_from(tensor, wait=wait)
        assert wait or copy.result() is copied
        assert not COPIES or copied.tolist() == [0, 1, 2, 3, 4, 5]


def test_copy_from_between_gpus_writes_the_elements(gpus):
    source, target = filled(gpus[0], "device"), sx.zeros(6, "int32", device=gpus[1])
    target.copy_from(source)
    assert not COPIES or target.tolist() == [0, 1, 2, 3, 4, 5]
