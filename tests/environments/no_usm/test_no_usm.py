# SPDX-License-Identifier: Apache-2.0
"""A device without USM (PoCL) before one with it: it keeps its id, and refuses allocations."""

import dpctl
import numpy as np
import pytest

import sycl_ext as sx
from dlpack_conformance.structs import managed_in
from producers import Liar, check_export, over
from samples import LAYOUTS, assert_same_view, values


@pytest.fixture(scope="session")
def bare():
    return next(device for device in sx.devices() if not device.usm_types)


@pytest.fixture(scope="session")
def cpu(bare):
    return next(device for device in sx.devices() if device is not bare)


def test_device_without_usm_keeps_its_id(bare, cpu):
    assert (bare.id, cpu.id) == (0, 1)
    for ours, theirs in zip(sx.devices(), dpctl.get_devices(), strict=True):
        assert ours.id == theirs.get_device_id()
        assert ours.filter_string == theirs.filter_string
    assert bare.usm_types == ()
    assert sx.device(0) is sx.device("opencl:cpu:0") is bare


def test_allocation_without_usm_is_refused(bare, usm_type):
    for call in (
        lambda: sx.empty(3, usm_type=usm_type, device=bare),
        lambda: sx.zeros(0, usm_type=usm_type, device=bare),
        lambda: sx.zeros(3, usm_type=usm_type, device="opencl:cpu:0"),
    ):
        with pytest.raises(BufferError, match=rf"device 0 .*not support '{usm_type}' USM.*doctor"):
            call()


def test_transfer_to_a_device_without_usm_is_refused(bare, cpu):
    tensor = sx.zeros(3, device=cpu)
    for copy in (None, True):
        for call in (
            lambda copy=copy: tensor.to_device(bare, copy=copy),
            lambda copy=copy: sx.from_dlpack(np.zeros(3), device=bare, copy=copy),
            lambda copy=copy: tensor.__dlpack__(dl_device=(14, 0), copy=copy),
        ):
            with pytest.raises(BufferError, match="device 0 .*no USM"):
                call()


@pytest.mark.parametrize("copy", [None, False, True])
@pytest.mark.parametrize("x", [lambda cpu: sx.zeros(3, device=cpu), lambda cpu: np.zeros(3)])
def test_plan_refuses_a_device_without_usm_and_lists_pass_it_over(x, copy, bare, cpu):
    x = x(cpu)
    for wanted in (bare, [bare]):
        plan = sx.explain(x, wanted, copy=copy)
        assert (plan.route, plan.error) == (sx.Route.REFUSE, BufferError)
        with pytest.raises(BufferError, match="device 0 .*no USM") as caught:
            sx.exchange(x, wanted, copy=copy)
        assert type(caught.value) is BufferError
    assert sx.explain(x, [bare, cpu], copy=copy).device == (14, cpu.id)
    assert sx.exchange(x, [bare, cpu], copy=copy).device is cpu
    assert sx.from_dlpack(x, device=[bare, cpu], copy=copy).device is cpu


def test_capsule_that_claims_a_device_without_usm_is_refused(cpu):
    tensor = sx.zeros(3, device=cpu)
    managed = over(tensor, device=(14, 0))
    with pytest.raises(BufferError, match="USM"):
        sx.from_dlpack(managed.capsule())
    assert managed.deleted == 1
    with pytest.raises(BufferError, match="USM|announced"):
        sx.from_dlpack(Liar(tensor, (14, 0)))


def test_device_next_to_one_without_usm_works(cpu, usm_type):
    for layout in LAYOUTS.values():
        tensor, array = layout.tensor("float32", usm_type, device=cpu)
        check_export(tensor)
        device = managed_in(tensor.__dlpack__(max_version=(1, 0))).dl_tensor.device
        assert (device.device_type, device.device_id) == (14, 1)
        result = [sx.from_dlpack(tensor.__dlpack__())]
        if array.size:  # without an address it would go to the default device
            result.append(sx.as_tensor(tensor.to_numpy()))
        for again in result:
            assert_same_view(again, array)
            if array.size:
                assert (again.ptr, again.usm_type, again.device) == (tensor.ptr, usm_type, cpu)


def test_host_memory(cpu):
    """Whose is this pointer? The device without USM must not stand in the way of the answer."""
    tensor = sx.from_dlpack(values(3), device=cpu)
    assert (tensor.usm_type, tensor.device) == ("system", cpu)
    assert sx.host_view(values(3)).__dlpack__()
