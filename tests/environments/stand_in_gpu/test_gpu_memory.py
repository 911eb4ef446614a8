# SPDX-License-Identifier: Apache-2.0
"""Memory that the host cannot touch: every way to it, and from it."""

import contextlib
import operator
import os

import dpctl
import dpctl.memory
import numpy as np
import pytest

import graphs
import sycl_ext as sx
from dlpack_conformance.structs import READ_ONLY, call_deleter, managed_in, take
from needs import needs
from producers import Foreign, as_strided, check_export
from samples import LAYOUTS, bits, numbers, values
from ways import Described

# ---- the table -----------------------------------------------------------------------------------


def test_gpu_facts_are_those_of_the_driver(gpu, cpu):
    assert gpu.usm_types == ("device", "shared", "host")
    assert [gpu.host_accessible(kind) for kind in gpu.usm_types] == [False, True, True]
    assert all(cpu.host_accessible(kind) for kind in cpu.usm_types)
    assert gpu.has_fp64 == (os.environ.get("FAKEGPU_FP64") != "0")
    assert gpu.filter_string == f"{gpu.backend}:gpu:0"


@needs("one_context")
def test_gpus_share_one_context(gpus):
    assert gpus[0].sycl_context == gpus[1].sycl_context
    assert gpus[0].sycl_device != gpus[1].sycl_device


@pytest.mark.parametrize("usm_type", ["device", "shared"])
def test_operators_refuse_on_a_gpu_as_on_a_cpu(gpu, cpu, usm_type):
    """NumPy would compute on a CPU and fail on a GPU; the tensor refuses on both."""
    said = set()
    for device in (cpu, gpu):
        t = sx.zeros(3, usm_type=usm_type, device=device)
        for compute in (operator.add, operator.eq, operator.lt):
            for operands in ((t, np.ones(3)), (np.ones(3), t), (np.float32(1), t), (t, 1)):
                with pytest.raises(
                    TypeError, match="does not support .* use an array lib"
                ) as caught:
                    compute(*operands)
                said.add(str(caught.value))
    assert len(said) == 2  # one for ==, one for the others


# ---- round trips ---------------------------------------------------------------------------------


@pytest.mark.parametrize("key", [
    (slice(None), slice(None, None, 2)),
    (slice(None, None, -1), slice(None)),
    (slice(1, None, 3), slice(5, -5)),
    (slice(None), slice(0, 1)),
])  # fmt: skip
def test_strided_copies_that_do_not_fit_into_one_block(gpus, key):
    """More than the staging memory holds, from and to every kind of neighbour."""
    array = np.arange(3_000_000, dtype="float32").reshape(1500, 2000)
    tensor = sx.empty(array.shape, device=gpus[0]).copy_from(array)
    view, wanted = tensor[key], array[key]
    np.testing.assert_array_equal(view.to_numpy(), wanted)
    np.testing.assert_array_equal(view.T.copy().to_numpy(), wanted.T)
    np.testing.assert_array_equal(view.to_device(gpus[1], copy=True).to_numpy(), wanted)
    tensor.copy_from(-array)
    np.testing.assert_array_equal(view.to_numpy(), -wanted)
    tensor.T.copy_from(sx.as_tensor(np.asfortranarray(array.T), device=gpus[1]))
    np.testing.assert_array_equal(tensor.to_numpy(), array)
    rows = tensor[:, 7:1007]  # into memory with gaps
    rows.copy_from(array[:, 1000:].copy())
    changed = array.copy()
    changed[:, 7:1007] = array[:, 1000:]
    np.testing.assert_array_equal(tensor.to_numpy(), changed)


@pytest.mark.parametrize(
    "slices",
    [
        (slice(1, None), slice(None, -1)),
        (slice(None, -1), slice(1, None)),
        (slice(None), slice(None, None, -1)),
    ],
)
def test_overlapping_copies(gpu, slices):
    """Ten elements in one block, and 10 MB in several of 4 MiB."""
    for count in (10, 5_000_000):
        array = np.arange(count, dtype="int16")
        tensor = sx.empty(count, "int16", device=gpu).copy_from(array)
        tensor[slices[0]].copy_from(tensor[slices[1]])
        array[slices[0]] = array[slices[1]].copy()
        np.testing.assert_array_equal(tensor.to_numpy(), array)


def elements_of(shape, strides):
    """The place of each element, from the lowest one on."""
    places = np.zeros((), int)
    for length, stride in zip(shape, strides, strict=True):
        places = places[..., None] + stride * np.arange(length)
    return places - places.min()


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((3, 2), (5, 2)), ((3, 2), (5, -2)), ((5000, 2), (3, 1)), ((2, 3, 2), (1, 9, 3))],
)
def test_gaps_of_a_strided_target_are_left_alone(gpu, shape, strides):
    places = elements_of(shape, strides)
    whole = sx.empty(int(places.max()) + 1, "int64", device=gpu)
    wanted = np.full(whole.shape, -1)
    whole.copy_from(wanted)
    target = as_strided(whole, shape, strides, int(places.flat[0]))
    target.copy_from(np.arange(target.size).reshape(shape))
    wanted[places] = np.arange(target.size).reshape(shape)
    np.testing.assert_array_equal(whole.to_numpy(), wanted)


# ---- to the host ---------------------------------------------------------------------------------


def test_numpy_is_told_what_to_do(gpu):
    """No hidden copy behind ``np.asarray``."""
    with pytest.raises(TypeError, match=r"'device' USM.*to_numpy\(\).*host_view.*'shared'"):
        np.asarray(numbers("device", device=gpu))
    with pytest.raises(BufferError, match="'device' USM.*usm_type='shared'"):
        memoryview(numbers("device", device=gpu))
    for usm_type in ("shared", "host"):
        tensor = numbers(usm_type, device=gpu)
        assert np.asarray(tensor).ctypes.data == tensor.ptr
        assert np.asarray(memoryview(tensor)).ctypes.data == tensor.ptr


def test_host_view_of_device_memory_is_one_kept_copy(gpu, adapter):
    """One copy, made when the view is, and kept."""
    tensor, array = LAYOUTS["sliced"].tensor("float32", "device", device=gpu)
    before = adapter.fakegpu_copies()
    view = sx.host_view(tensor)
    made = adapter.fakegpu_copies() - before
    assert made >= 1
    assert view.is_copy
    assert view.__dlpack_device__() == (1, 0)
    assert (view.shape, view.dtype, view.size, view.nbytes) == ((3, 3), "float32", 9, 36)
    assert (view.ndim, view.itemsize, view.readonly) == (2, 4, False)
    tensor.copy_from(np.float32(5))  # later writes do not show
    before = adapter.fakegpu_copies()
    first, second, third = np.from_dlpack(view), np.asarray(view), np.asarray(memoryview(view))
    assert bits(first) == bits(array)
    assert adapter.fakegpu_copies() == before
    assert first.ctypes.data == second.ctypes.data == third.ctypes.data == view.ptr
    assert view.strides == (3, 1)
    check_export(view)


def test_host_view_copy_of_read_only_memory_is_writable(gpu):
    """A copy is its owner's own."""
    view = sx.host_view(numbers("device", device=gpu).as_readonly())
    assert not view.readonly
    assert np.from_dlpack(view).flags.writeable
    assert not managed_in(view.__dlpack__(max_version=(1, 0))).flags & READ_ONLY


# ---- from the host -------------------------------------------------------------------------------


def test_import_of_two_copies_needs_copy_true(gpu):
    """From a device elsewhere over the host to a GPU are two copies: only when told so."""
    producer = Foreign(values((2, 3)))
    with pytest.raises(BufferError, match="copy=True"):
        sx.from_dlpack(producer, device=gpu)
    tensor = sx.from_dlpack(producer, device=gpu, copy=True)
    assert tensor.device is gpu
    assert bits(tensor.to_numpy()) == bits(values((2, 3)))


# ---- other libraries -----------------------------------------------------------------------------


def test_explain_names_what_the_device_cannot_do(gpu):
    plan = sx.explain(np.zeros(3), gpu)
    assert plan.copies == 1
    assert ("float64" in str(plan)) == (not gpu.has_fp64)


def address_in(tensor):
    """Of its memory, without telling the tensor that other code has it."""
    return managed_in(tensor.__dlpack__(stream=-1, max_version=(1, 0))).dl_tensor.data


@pytest.mark.parametrize("case", ["block queue", "many queues", "recorded at the export"])
def test_block_with_work_on_a_named_queue_is_not_handed_out(gpu, hold, case):
    """The consumer drops its view while the queue that it named still writes."""

    def new_queue():
        return dpctl.SyclQueue(gpu.sycl_context, gpu.sycl_device, property="in_order")

    queue = new_queue()
    source = dpctl.memory.MemoryUSMDevice(1000, queue=queue)
    tensor = sx.empty(1000, "uint8", device=gpu)
    tensor.wait()  # for copies that an earlier test has left: a graph cannot depend on them
    earlier = [new_queue() for _ in range(20 if case == "many queues" else 0)]
    for block in earlier:
        managed, versioned = take(tensor.__dlpack__(stream=block, max_version=(1, 0)))
        call_deleter(managed, versioned=versioned)
    records = case == "recorded at the export"
    with graphs.recording(queue) if records else contextlib.nullcontext():
        capsule = tensor.__dlpack__(stream=queue, max_version=(1, 0))
    address = managed_in(capsule).dl_tensor.data
    fields = {
        "data": (address, False),
        "shape": (1000,),
        "strides": None,
        "typestr": "|u1",
        "version": 1,
        "syclobj": queue,
    }
    with hold() as held:
        target = dpctl.memory.as_usm_memory(Described(fields, None))
        event = queue.memcpy_async(target, source, 1000)
        managed, versioned = take(capsule)
        call_deleter(managed, versioned=versioned)
        del tensor
        others = [sx.empty(1000, "uint8", device=gpu) for _ in range(20)]
        assert address not in map(address_in, others)
        held.release()
    event.wait()


@pytest.mark.parametrize("order", ["C", "F"])
def test_large_tensor_on_a_device_is_filled(gpu, order):
    """The host writes the first 4 MiB; the device copies them: once, and a part of it."""
    tensor = sx.full((3, 3 << 20), 7, "uint8", device=gpu, order=order)
    assert np.all(tensor.to_numpy() == 7)
    tensor[:, :8:2].fill(8)
    assert tensor[:, :8].tolist() == [[8, 7] * 4] * 3
    assert np.all(tensor[:, 8:].to_numpy() == 7)
