# SPDX-License-Identifier: Apache-2.0
"""Two root devices on two platforms: ids, contexts, and memory that belongs to one of them."""

import dpctl
import dpctl.memory
import dpnp
import numpy as np
import pytest

import samples
import sycl_ext as sx
from dlpack_conformance.structs import IS_COPIED, managed_in
from producers import Liar, Producer, check_export, over
from samples import LAYOUTS, assert_equal, assert_same_view, bits, values

VERSIONED = {"max_version": (1, 0)}
BOTH = pytest.mark.parametrize("number", [0, 1])


def numbers(number, usm_type="device"):
    return sx.empty((2, 3), usm_type=usm_type, device=number).copy_from(values((2, 3)))


def read(capsule):
    managed = managed_in(capsule)
    dl = managed.dl_tensor
    return (dl.device.device_type, dl.device.device_id), managed.flags, dl.data


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
def test_every_form_of_a_device(number):
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


def test_the_third_does_not_exist():
    following = len(sx.devices())  # other tests may have made entries for contexts
    for spec in (following, (14, following), "cpu:2", "opencl:cpu:2"):
        with pytest.raises(ValueError, match=rf"2|{following}"):
            sx.device(spec)


# ---- exchange ------------------------------------------------------------------------------------


@BOTH
def test_round_trip(number, usm_type):
    for layout in LAYOUTS.values():
        for dtype in samples.DTYPE_NAMES:
            tensor, array = layout.tensor(dtype, usm_type, device=number)
            check_export(tensor)
            for again in (
                sx.from_dlpack(tensor.__dlpack__(**VERSIONED)),
                sx.from_dlpack(tensor),
                sx.from_dlpack(Producer(tensor)),
                sx.as_tensor(tensor.to_numpy()),
            ):
                assert_same_view(again, array)
                if array.size:
                    assert (again.ptr, again.usm_type) == (tensor.ptr, usm_type)
                    assert again.device.id == number


@BOTH
def test_to_the_other_platform(number, usm_type):
    tensor, other = numbers(number, usm_type), 1 - number
    for copy in (None, True):
        capsule = tensor.__dlpack__(dl_device=(14, other), copy=copy, **VERSIONED)
        device, flags, pointer = read(capsule)
        assert (device, flags) == ((14, other), IS_COPIED)
        assert pointer != tensor.ptr
        taken = sx.from_dlpack(capsule)
        assert taken.device.id == other
        assert bits(taken.to_numpy()) == bits(values((2, 3)))
        for moved in (
            tensor.to_device(other, copy),
            sx.from_dlpack(Producer(tensor), device=other, copy=copy),
        ):
            assert moved.device.id == other
            assert moved.usm_type == usm_type
            assert bits(moved.to_numpy()) == bits(values((2, 3)))
    for refused in (
        lambda: tensor.__dlpack__(dl_device=(14, other), copy=False),
        lambda: tensor.to_device(other, copy=False),
        lambda: sx.from_dlpack(Producer(tensor), device=other, copy=False),
    ):
        with pytest.raises(sx.CopyRefusedError, match="copy=False"):
            refused()


@BOTH
@pytest.mark.parametrize("name", LAYOUTS)
def test_copies_between_platforms(number, name, usm_type):
    for dtype in ("bool", "float16", "float32", "complex128"):
        tensor, array = LAYOUTS[name].tensor(dtype, usm_type, device=number)
        moved = tensor.to_device(1 - number)
        assert_equal(moved, array)
        target = sx.empty(array.shape, dtype, usm_type=usm_type, device=1 - number, order="F")
        assert_equal(target.copy_from(tensor), array)


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


@BOTH
def test_host_memory_is_known_for_whose_it_is(number, usm_type):
    tensor = numbers(number, usm_type)
    for source in (tensor.to_numpy(), np.from_dlpack(sx.host_view(tensor)), sx.host_view(tensor)):
        again = sx.from_dlpack(source)
        assert (again.device.id, again.usm_type, again.ptr) == (number, usm_type, tensor.ptr)


# ---- other libraries -----------------------------------------------------------------------------


@BOTH
def test_dpnp(number, usm_type):
    queue = dpctl.SyclQueue(dpctl.get_devices()[number])
    array = dpnp.arange(10, usm_type=usm_type, sycl_queue=queue)
    assert array.__dlpack_device__() == (14, number)
    for way in (sx.from_dlpack, sx.as_tensor):
        tensor = way(array)
        assert (tensor.device.id, tensor.usm_type) == (number, usm_type)
        assert tensor.to_numpy().tolist() == list(range(10))
        again = dpnp.from_dlpack(tensor)
        assert again.sycl_device == dpctl.get_devices()[number]
        assert again.__sycl_usm_array_interface__["data"][0] == tensor.ptr
        other = way(array, device=1 - number)
        assert other.device.id == 1 - number
        assert other.to_numpy().tolist() == list(range(10))


@BOTH
def test_dpctl_memory(number):
    memory = dpctl.memory.MemoryUSMShared(16, queue=dpctl.SyclQueue(dpctl.get_devices()[number]))
    tensor = sx.as_tensor(memory)
    assert (tensor.device.id, tensor.ptr) == (number, memory._pointer)
    assert dpctl.memory.as_usm_memory(tensor).sycl_context == memory.sycl_context


# ---- queues --------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("order", ["in_order", "enable_profiling"])
def test_a_queue_of_the_other_platform_as_stream(number, order):
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


@BOTH
def test_sub_devices_and_private_contexts(number):
    root = sx.device(number)
    units = root.sycl_device.max_compute_units
    private = sx.register_context(dpctl.SyclContext([root.sycl_device]))
    for entry in (*root.create_sub_devices(units // 2), private):
        assert entry.root_id == number
        assert entry.parent is root
        assert entry.id > 1
        tensor = sx.empty((2, 3), device=entry).copy_from(values((2, 3)))
        assert tensor.__dlpack_device__() == (14, number)
        assert read(tensor.__dlpack__(**VERSIONED))[:2] == ((14, number), IS_COPIED)
        for other in sx.devices():
            assert bits(tensor.to_device(other).to_numpy()) == bits(values((2, 3)))
