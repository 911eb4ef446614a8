# SPDX-License-Identifier: Apache-2.0
"""Tensors in pickles: everything of a tensor travels, and its bytes travel once."""

import copy
import pickle
import pickletools

import dpctl
import numpy as np
import pytest

import environments
import sycl_ext as sx
from needs import needs
from samples import LAYOUTS, USM_TYPES, assert_equal, bits, strides_of, values
from sycl_ext._devices.description import PortableDevice, choose, read_partition, read_portable
from sycl_ext._tensor import pickling

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


def sent(tensor, protocol=pickle.HIGHEST_PROTOCOL):
    return pickle.loads(pickle.dumps(tensor, protocol))


def out_of_band(tensor):
    """The pickle without the bytes, and the bytes."""
    buffers = []
    data = pickle.dumps(tensor, 5, buffer_callback=buffers.append)
    return data, buffers


def address(buffer):
    return np.frombuffer(buffer, np.uint8).__array_interface__["data"][0]


# ---- what travels --------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("usm_type", USM_TYPES)
def test_pickle_of_each_protocol_keeps_the_tensor(usm_type, protocol):
    tensor, array = LAYOUTS["C"].tensor("float32", usm_type)
    arrived = sent(tensor, protocol)
    assert type(arrived) is sx.Tensor
    assert_equal(arrived, array)
    assert (arrived.usm_type, arrived.device) == (usm_type, tensor.device)
    assert not arrived.readonly
    assert arrived.ptr != tensor.ptr


@pytest.mark.parametrize("order", ["0123", "3210", "2031", "1302"])
def test_pickle_keeps_the_order_of_the_axes(order):
    axes = [int(axis) for axis in order]
    array = np.arange(120, dtype="int16").reshape(2, 3, 4, 5)
    arrived = sent(sx.as_tensor(array, copy=True).transpose(axes))
    assert_equal(arrived, array.transpose(axes))
    assert arrived.strides == strides_of(array.transpose(axes))


def test_gaps_do_not_travel_and_repeats_do_not_either():
    sliced = sx.zeros((100, 100), "uint8")[::10, ::10]
    assert [buffer.raw().nbytes for buffer in out_of_band(sliced)[1]] == [100]
    repeated, array = LAYOUTS["broadcast"].tensor("uint8")
    data, buffers = out_of_band(repeated)
    assert [buffer.raw().nbytes for buffer in buffers] == [4]
    arrived = pickle.loads(data, buffers=buffers)
    assert_equal(arrived, array)
    assert arrived.strides == (0, 1)


def test_read_only_memory_arrives_as_such():
    arrived = sent(sx.zeros(3).as_readonly())
    assert arrived.readonly
    with pytest.raises(BufferError, match="read-only"):
        arrived.copy_from(np.ones(3, "float32"))


@needs("system_usm")
def test_pickled_host_memory_arrives_as_host_usm():
    array = values((3, 4))
    tensor = sx.from_dlpack(array)
    assert tensor.usm_type == "system"
    arrived = sent(tensor)
    assert arrived.usm_type == "host"
    assert_equal(arrived, array)


# ---- how the bytes travel ------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["C", "F", "one element"])
def test_out_of_band_bytes_are_the_memory_where_the_host_reaches_it(layout, usm_type):
    tensor, array = LAYOUTS[layout].tensor("bfloat16", usm_type)
    data, (buffer,) = out_of_band(tensor)
    reached = tensor.device.host_accessible(usm_type)
    assert (address(buffer.raw()) == tensor.ptr) == reached
    assert bytes(buffer.raw()) == array.tobytes("A")
    assert buffer.raw().readonly  # a receiver that copies need not make it writable first
    assert len(data) < 200


def test_buffers_of_other_types_are_taken_for_the_bytes(usm_type):
    tensor, array = LAYOUTS["C"].tensor("int32", usm_type)
    data, (buffer,) = out_of_band(tensor)
    raw = bytes(buffer.raw())
    shifted = memoryview(b"x" + raw)[1:]  # not aligned for the dtype
    for other in (raw, bytearray(raw), shifted, np.frombuffer(raw, "int32").reshape(3, 4)):
        assert_equal(pickle.loads(data, buffers=[other]), array)


@pytest.mark.parametrize("protocol", [4, 5])
def test_pickle_names_only_our_function(protocol, root):
    tensor = sx.zeros((2, 3)).as_readonly()
    words = [
        argument
        for opcode, argument, _ in pickletools.genops(pickle.dumps(tensor, protocol))
        if opcode.name in ("SHORT_BINUNICODE", "BINUNICODE", "GLOBAL", "INST")
    ]
    known = ["sycl_ext._tensor.pickling", "load", "float32", "device"]
    assert words == [*known, root.backend, root.device_type]


# ---- where it arrives ----------------------------------------------------------------------------


def test_pickled_tensor_leaves_a_private_context(private, root):
    assert sent(sx.zeros(3, device=private)).device is root


@needs("compute_units")
def test_pickled_tensor_of_an_unnamed_sub_device_arrives_on_its_parent(root):
    foreign = root.sycl_device.create_sub_devices(partition=[1])[0]
    device = sx.device(dpctl.SyclQueue(foreign))
    assert device.kind == "sub_device"
    assert device.partition_index is None
    assert sent(sx.zeros(3, device=device)).device is root


def test_unpickle_to_names_the_device(halves, root):
    data = pickle.dumps(sx.zeros(3, usm_type="shared"))
    with sx.pickling.to_device(halves[1]):
        assert pickle.loads(data).device is halves[1]
        with sx.pickling.to_device(None):
            assert pickle.loads(data).device is root
        arrived = pickle.loads(data)
        assert (arrived.device, arrived.usm_type) == (halves[1], "shared")
    assert pickle.loads(data).device is root
    with pytest.raises(EOFError), sx.pickling.to_device(halves[1]):
        pickle.loads(b"")
    assert pickle.loads(data).device is root


def test_unpickle_to_a_queue_gives_the_tensor_that_queue():
    queue = dpctl.SyclQueue(property="in_order")
    with sx.pickling.to_device(queue):
        assert sent(sx.zeros(3)).sycl_queue == queue
    with pytest.raises(TypeError, match="device is of type object"):
        sx.pickling.to_device(object()).__enter__()


HERE = ["opencl:cpu:0", "opencl:gpu:0", "level_zero:gpu:0", "level_zero:gpu:1", "level_zero:gpu:2"]


@pytest.mark.parametrize(
    ("wanted", "nearest"),
    [
        (("opencl", "cpu", 0), "opencl:cpu:0"),
        (("opencl", "cpu", 3), "opencl:cpu:0"),
        (("level_zero", "gpu", 1), "level_zero:gpu:1"),
        (("level_zero", "gpu", 9), "level_zero:gpu:2"),
        (("opencl", "gpu", 2), "opencl:gpu:0"),
        (("cuda", "gpu", 0), "opencl:gpu:0"),
        (("cuda", "gpu", 2), "level_zero:gpu:2"),
        (("opencl", "accelerator", 0), None),
    ],
)
def test_pickled_device_is_matched_to_the_nearest(wanted, nearest):
    number = choose(PortableDevice(*wanted), HERE)
    assert (None if number is None else HERE[number]) == nearest


@pytest.mark.parametrize(
    "words",
    [
        None,
        "opencl:cpu:0",
        ("opencl", "cpu", 0),
        ("opencl", "cpu", 0, ()),
        ("opencl", "cpu", -1, (), b"", b""),
        ("opencl", "cpu", True, (), b"", b""),
        ["opencl", "cpu", 0, (), b"", b""],
        ("opencl", "cpu", 0, [("numa", 0)], b"", b""),
        ("opencl", "cpu", 0, (("numa",),), b"", b""),
        ("opencl", "cpu", 0, (("numa", -1),), b"", b""),
        ("opencl", "cpu", 0, (("elsewhere", 0),), b"", b""),
        ("opencl", "cpu", 0, (("equally 99999999999", 0),), b"", b""),
        ("opencl", "cpu", 0, (("counts", 0),), b"", b""),
        ("opencl", "cpu", 0, (("numa", 0),) * 9, b"", b""),
        ("opencl", "cpu", 1 << 70, (), b"", b""),
        ("opencl", "cpu", 0, (), b"short", b""),
        ("opencl", "cpu", 0, (), b"", "0" * 16),
    ],
)
def test_description_that_names_no_device(words):
    with pytest.raises(ValueError, match="does not describe a device"):
        read_portable(words)


def test_partitions_are_read_as_they_are_written(halves, root):
    assert root.create_sub_devices(read_partition(halves[0].partition))[:2] == halves
    for text in ("equally ²", "equally", "equally 2 2", "halves 2"):
        assert read_partition(text) is None


# ---- copies --------------------------------------------------------------------------------------


def test_deepcopy_copies_once():
    tensor = sx.zeros(3)
    first, second = copy.deepcopy([tensor, tensor])
    assert first is second
    assert first.ptr != tensor.ptr


def test_pickle_of_a_device_names_the_way_out():
    with pytest.raises(TypeError, match="belongs to this process; send"):
        pickle.dumps(sx.device())


# ---- other processes -----------------------------------------------------------------------------


def test_pickle_of_a_missing_device_arrives_on_the_default():
    load, arguments = fields_of()
    arguments[6] = ("opencl", "accelerator", 0, (), b"", b"")
    with pytest.warns(UserWarning, match="on opencl:accelerator:0, which is not available"):
        assert load(*arguments).device is sx.device()


@needs("no_gpu")
def test_pickle_of_a_cpu_of_another_machine_arrives_on_the_cpu_without_a_warning(halves):
    load, arguments = sx.zeros((2, 3), device=halves[1]).__reduce_ex__(4)
    *words, root_uuid, uuid = arguments[6]
    assert (len(root_uuid), uuid) == (16, b"")
    other = (*words, bytes(16), b"")
    assert load(*arguments[:6], other, *arguments[7:]).device is halves[1]


def test_unpickling_imports_the_package():
    tensor = sx.zeros(2, usm_type="host", device="cpu").copy_from(np.array([3, 4], "float32"))
    data = pickle.dumps(tensor)
    shown = environments.python(f"import pickle; print(pickle.loads({data!r}).to_numpy().tolist())")
    assert shown.strip() == "[3.0, 4.0]"


# ---- hostile pickles -----------------------------------------------------------------------------


def fields_of(tensor=None):
    load, arguments = (tensor or sx.zeros((2, 3), "int16")).__reduce_ex__(4)
    return load, list(arguments)


LIES = {
    "version": (0, 99, "not a pickle"),
    "version, a bool": (0, True, "its format is True"),
    "dtype": (1, "float99", "dtype is"),
    "dtype, an object": (1, np.dtype("int16"), "dtype is"),
    "ndim": (2, (1,) * 65, "at most 64"),
    "shape, a list": (2, [2, 3], "not a tuple"),
    "negative": (2, (-2, -3), "the shape is"),
    "float": (2, (2.0, 3), "the shape is"),
    "more than the buffer": (2, (2, 4), "12 bytes, but its dtype and shape require 16"),
    "less than the buffer": (2, (2, 2), "12 bytes, but its dtype and shape require 8"),
    "overflow": (2, (1 << 62, 1 << 62), "exceeds the address"),
    "overflow to the right number": (2, (1 << 32, (1 << 32) + 6), "exceeds the address"),
    "empty and huge": (2, (0, 1 << 63), "the shape is"),
    "axes twice": (3, (0, 0), "not an order of 2 axes"),
    "axes out of range": (3, (0, 2), "not an order of 2 axes"),
    "axes, a list": (3, [0, 1], "order of the axes"),
    "axes left out": (3, (0,), "12 bytes, but its dtype and shape require 4"),
    "usm_type": (4, "magic", "usm_type is"),
    "usm_type, a list": (4, ["host"], "usm_type is"),
    "readonly": (5, 1, "readonly is 1"),
    "device": (6, ("opencl", "cpu"), "does not describe a device"),
    "no buffer": (7, 5, "its bytes are of type int"),
    "strided buffer": (7, memoryview(bytes(24))[::2], "its bytes are of type memoryview"),
    "short buffer": (7, b"", "0 bytes, but"),
}


@pytest.mark.parametrize("lie", LIES)
def test_altered_pickle_is_refused_before_an_allocation(lie, monkeypatch):
    index, value, message = LIES[lie]
    load, arguments = fields_of()
    arguments[index] = value
    monkeypatch.setattr(pickling._core, "allocate", None)
    with pytest.raises(pickle.UnpicklingError, match="not a pickle of a sycl_ext.Tensor") as caught:
        load(*arguments)
    assert message in str(caught.value)


def test_broadcast_axis_of_a_pickle_needs_no_memory():
    """The axis of 2**50 elements repeats six elements."""
    load, arguments = fields_of()
    arguments[2:4] = [(2, 3, 1 << 50), (0, 1)]
    huge = load(*arguments)
    assert huge.strides == (3, 1, 0)
    assert bits(huge[..., 0].to_numpy()) == bytes(12)
