# SPDX-License-Identifier: Apache-2.0
"""Two root devices on two platforms: ids, contexts, and memory that belongs to one of them."""

import dpctl
import dpctl.memory
import dpnp
import pytest

import sycl_ext as sx
from producers import Liar, over
from samples import values

VERSIONED = {"max_version": (1, 0)}
BOTH = pytest.mark.parametrize("number", [0, 1])


def numbers(number, usm_type="device"):
    return sx.empty((2, 3), usm_type=usm_type, device=number).copy_from(values((2, 3)))


# ---- the table -----------------------------------------------------------------------------------


def roots():
    return [device for device in sx.devices() if device.kind == "root"]


def test_ids_are_those_of_dpctl():
    assert [device.id for device in roots()] == [0, 1]
    for ours, theirs in zip(roots(), dpctl.get_devices(), strict=True):
        assert ours.id == theirs.get_device_id()
        assert ours.filter_string == theirs.filter_string
        assert ours.sycl_device == theirs
    assert [device.filter_string for device in roots()] == ["opencl:cpu:0", "opencl:cpu:1"]


def test_contexts():
    contexts = [device.sycl_context for device in roots()]
    assert contexts[0] != contexts[1]
    for device in roots():
        assert device.sycl_context == device.sycl_device.sycl_platform.default_context


@BOTH
def test_device_of_each_form_names_the_platform(number):
    theirs = dpctl.get_devices()[number]
    for spec in (
        number,
        (14, number),
        f"opencl:cpu:{number}",
        f"cpu:{number}",
        str(number),
        theirs,
        dpctl.SyclQueue(theirs),
        dpctl.SyclQueue(theirs).sycl_context,
        dpnp.zeros(1, sycl_queue=dpctl.SyclQueue(theirs)).sycl_queue,
        sx.devices()[number],
        numbers(number),
    ):
        assert sx.device(spec).id == number
    assert sx.empty(3, device=number).__dlpack_device__() == (14, number)


# ---- exchange ------------------------------------------------------------------------------------


@BOTH
def test_memory_under_the_wrong_id(number, usm_type):
    tensor = numbers(number, usm_type)
    managed = over(tensor, device=(14, 1 - number))
    with pytest.raises(BufferError, match=rf"not USM.*default\s+context.*\(14, {1 - number}\)"):
        sx.from_dlpack(managed.capsule())
    assert managed.deleted == 1
    liar = Liar(tensor, (14, 1 - number))
    with pytest.raises(BufferError, match=rf"\(14, {number}\).*\(14, {1 - number}\) was announced"):
        sx.from_dlpack(liar)
    assert set(liar.deleted) == {1}


# ---- queues --------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("order", ["in_order", "enable_profiling"])
def test_queue_of_the_other_platform_as_stream_is_waited_for(number, order):
    """A barrier on its event would end the process."""
    consumer = dpctl.SyclQueue(dpctl.get_devices()[1 - number], property=order)
    for round_ in range(20):
        array = dpnp.full(100_000, round_, sycl_queue=dpctl.SyclQueue(dpctl.get_devices()[number]))
        array += 1
        tensor = sx.as_tensor(array)
        for copy in (None, True):
            capsule = tensor.__dlpack__(stream=consumer, copy=copy, **VERSIONED)
            assert sx.from_dlpack(capsule).to_numpy().max() == round_ + 1
        moved = sx.from_dlpack(array, device=1 - number)
        assert moved.to_numpy().min() == round_ + 1
