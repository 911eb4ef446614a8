# SPDX-License-Identifier: Apache-2.0
"""Protocols besides DLPack: ``__sycl_usm_array_interface__``, dpctl.memory and plain buffers."""

import array as stdlib_array

import dpctl
import dpctl.memory
import numpy as np
import pytest

import samples
import sycl_ext as sx
from needs import needs
from samples import LAYOUTS, assert_equal, assert_same_view, values

MEMORIES = {
    "device": dpctl.memory.MemoryUSMDevice,
    "shared": dpctl.memory.MemoryUSMShared,
    "host": dpctl.memory.MemoryUSMHost,
}


class Described:
    """An object of the protocol; `fields` override the correct values."""

    def __init__(self, tensor, **fields):
        self.tensor = tensor
        true = dict(tensor.__sycl_usm_array_interface__)
        self.__sycl_usm_array_interface__ = {**true, **fields}


def without(tensor, *names):
    described = Described(tensor)
    for name in names:
        del described.__sycl_usm_array_interface__[name]
    return described


def numbers(usm_type="shared", shape=(2, 3), **where):
    return sx.empty(shape, usm_type=usm_type, **where).copy_from(values(shape))


# ---- out -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAYOUTS)
def test_description(name, usm_type):
    for dtype in samples.NUMPY_DTYPES:
        tensor, _ = LAYOUTS[name].tensor(dtype, usm_type)
        for view in (tensor, tensor.as_readonly()):
            fields = view.__sycl_usm_array_interface__
            assert fields["data"] == (tensor.ptr, view.readonly)
            assert fields["shape"] == tensor.shape
            assert fields["strides"] in (None, tensor.strides)
            assert fields["typestr"][1:] == samples.numpy_dtype(dtype).str[1:]
            assert fields["version"] == 1
            assert fields.get("offset", 0) == 0
            assert isinstance(fields["syclobj"], dpctl.SyclQueue)
            assert fields["syclobj"].sycl_context == tensor.sycl_context


def test_syclobj_is_the_queue_that_sklearnex_reads(halves):
    for where in (0, *halves):
        queue = sx.zeros(3, device=where).__sycl_usm_array_interface__["syclobj"]
        assert isinstance(queue.sycl_device.has_aspect_fp64, bool)
        assert queue._get_capsule()


def test_narrow_dtypes_are_opaque():
    """The protocol has no letter for them; nobody must take them for something else."""
    for dtype in samples.DTYPE_NAMES:
        if dtype not in samples.NUMPY_DTYPES:
            tensor = sx.zeros(3, dtype)
            assert tensor.__sycl_usm_array_interface__["typestr"] == f"|V{tensor.itemsize}"
            with pytest.raises(BufferError, match="typestr"):
                sx.as_tensor(Described(tensor))


# ---- in: every form of syclobj -------------------------------------------------------------------


class WithCapsule:
    def __init__(self, obj):
        self.obj = obj

    def _get_capsule(self):
        return self.obj._get_capsule()


SYCL_OBJECTS = {
    "queue": lambda queue: queue,
    "context": lambda queue: queue.sycl_context,
    "queue capsule": lambda queue: queue._get_capsule(),
    "context capsule": lambda queue: queue.sycl_context._get_capsule(),
    "object with a queue capsule": WithCapsule,
    "object with a context capsule": lambda queue: WithCapsule(queue.sycl_context),
    "filter string": lambda queue: queue.sycl_device.filter_string,
    "device": lambda queue: queue.sycl_device,
}


@pytest.mark.parametrize("form", SYCL_OBJECTS)
def test_syclobj_of_each_form_is_taken(form, usm_type):
    tensor = numbers(usm_type)
    queue = dpctl.SyclQueue(property="in_order")
    result = sx.as_tensor(Described(tensor, syclobj=SYCL_OBJECTS[form](queue)))
    assert (result.ptr, result.usm_type, result.device) == (tensor.ptr, usm_type, tensor.device)
    if form in ("queue", "queue capsule", "object with a queue capsule"):
        assert result.sycl_queue == queue


def test_offset_counts_elements():
    tensor = numbers(shape=(10,))
    result = sx.as_tensor(Described(tensor, shape=(4,), offset=3))
    assert result.ptr == tensor.ptr + 12
    assert_equal(result, values(10)[3:7])


@pytest.mark.parametrize("prefix", ["|", "<", "="])
def test_typestr_of_native_order(prefix):
    result = sx.as_tensor(Described(numbers(), typestr=f"{prefix}f4"))
    assert result.dtype == "float32"


# ---- in: the read-only slot ----------------------------------------------------------------------


def test_read_only_by_the_specification():
    tensor = numbers()
    assert sx.as_tensor(Described(tensor, data=(tensor.ptr, True))).readonly
    assert not sx.as_tensor(Described(tensor, data=(tensor.ptr, False))).readonly


def test_read_only_of_dpctl_memory(usm_type):
    """It says True, and means writable."""
    memory = MEMORIES[usm_type](16)
    assert memory.__sycl_usm_array_interface__["data"][1] is True
    assert not sx.as_tensor(memory).readonly


def test_read_only_of_a_subclass_of_dpctl_memory():
    class Mine(dpctl.memory.MemoryUSMShared):
        pass

    assert not sx.as_tensor(Mine(16)).readonly


def test_read_only_of_onedal():
    """It puts "is mutable" in the slot."""
    table = type("Table", (Described,), {"__module__": "onedal.datatypes"})
    tensor = numbers()
    assert not sx.as_tensor(table(tensor, data=(tensor.ptr, True))).readonly
    assert sx.as_tensor(table(tensor, data=(tensor.ptr, False))).readonly


# ---- in: hostile descriptions --------------------------------------------------------------------

HOSTILE = {
    "version": ({"version": 2}, "version"),
    "no typestr": ({"typestr": None}, "typestr"),
    "typestr of nothing": ({"typestr": ""}, "typestr"),
    "foreign typestr": ({"typestr": ">f4"}, "byte order"),
    "string typestr": ({"typestr": "|S4"}, "typestr"),
    "object typestr": ({"typestr": "|O8"}, "typestr"),
    "absurd typestr": ({"typestr": "<f3"}, "typestr"),
    "typestr of bytes": ({"typestr": b"<f4"}, "typestr"),
    "data that is not a pair": ({"data": 5}, "data|TypeError"),
    "data of three": ({"data": (1, 2, 3)}, "data|ValueError"),
    "pointer that is not an int": ({"data": ("x", False)}, "TypeError|data"),
    "NULL": ({"data": (0, False)}, "NULL"),
    "negative pointer": ({"data": (-8, False)}, "address"),
    "pointer beyond the address space": ({"data": (2**64, False)}, "address"),
    "wild pointer": ({"data": (0xDEAD0000, False)}, "0xdead0000"),
    "shape that is not a shape": ({"shape": 3}, "shape|TypeError"),
    "shape of floats": ({"shape": (1.5,)}, "TypeError|shape"),
    "negative length": ({"shape": (-1, 3)}, "-1|shape"),
    "length beyond int64": ({"shape": (2**63,)}, "9223372036854775808"),
    "strides of another length": ({"strides": (1,)}, "strides"),
    "strides that are not ints": ({"strides": ("a", "b")}, "TypeError|strides"),
    "strides beyond int64": ({"strides": (2**70, 1)}, "1180591620717411303424"),
    # Far enough that no other block of the process is there.
    "offset beyond the allocation": ({"offset": 2**38}, "USM"),
    "negative offset": ({"offset": -(2**38)}, "USM|no address|not an address"),
    "offset that is not an int": ({"offset": 1.5}, "TypeError|offset"),
    "extent beyond the allocation": ({"shape": (2**38,), "strides": None}, "beyond"),
    "extent that overflows": ({"shape": (2**40, 2**40), "strides": None}, "overflow|address"),
    "no syclobj": ({"syclobj": None}, "queue"),
    "syclobj of nothing": ({"syclobj": object()}, "queue"),
    "syclobj of a number": ({"syclobj": 12345}, "queue"),
    "unknown filter string": ({"syclobj": "opencl:gpu:7"}, "opencl:gpu:7"),
    "65 dimensions": ({"shape": (1,) * 65, "strides": None}, "65"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile(case):
    fields, words = HOSTILE[case]
    with pytest.raises(BufferError, match=words):
        sx.as_tensor(Described(numbers(), **fields))


@pytest.mark.parametrize("name", ["data", "shape", "typestr", "syclobj"])
def test_missing_field_is_named(name):
    with pytest.raises(BufferError, match=name):
        sx.as_tensor(without(numbers(), name))


@pytest.mark.parametrize("interface", [3, "x", [], (1, 2), object()])
def test_malformed_description_is_refused(interface):
    described = Described(numbers())
    described.__sycl_usm_array_interface__ = interface
    with pytest.raises((BufferError, TypeError)):
        sx.as_tensor(described)


def test_exception_of_a_description_goes_through():
    class Angry:
        @property
        def __sycl_usm_array_interface__(self):
            raise RuntimeError("not today")

    with pytest.raises(RuntimeError, match="not today"):
        sx.as_tensor(Angry())


@needs("contexts")
def test_memory_of_another_context_than_it_says(private):
    tensor = numbers(device=private)
    with pytest.raises(BufferError, match="not USM"):
        sx.as_tensor(Described(tensor, syclobj=dpctl.SyclQueue()))
    with pytest.raises(BufferError, match="not USM"):
        sx.as_tensor(Described(numbers(), syclobj=private.sycl_queue))


# ---- buffers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "buffer",
    [
        b"abcdef",
        bytearray(b"abcdef"),
        memoryview(b"abcdef"),
        memoryview(bytearray(b"abcdef")),
        memoryview(b"abcdefghijkl")[::2],
        stdlib_array.array("d", [1, 2, 3]),
        np.arange(6).reshape(2, 3).T,
        memoryview(np.arange(6).reshape(2, 3).T),
        memoryview(np.zeros((2, 3), "complex64")),
    ],
    ids=lambda buffer: type(buffer).__name__,
)
def test_buffers(buffer):
    array = np.asarray(memoryview(buffer))
    tensor = sx.as_tensor(buffer, device="cpu")
    assert_same_view(tensor, array)
    assert tensor.readonly == memoryview(buffer).readonly
    assert tensor.usm_type == "system"
    assert tensor.ptr == array.__array_interface__["data"][0]


class Boaster(np.ndarray):
    """A subclass says anything about itself."""

    shape = property(lambda self: (1 << 20,))
    strides = property(lambda self: (8,))


@needs("device_copies")
@pytest.mark.parametrize("take", [sx.as_tensor, sx.host_view, sx.from_dlpack])
def test_description_of_an_ndarray_subclass_is_ignored(take):
    array = np.arange(3.0)[::-1].view(Boaster)
    taken = take(array)
    assert taken.shape == (3,)
    assert np.asarray(sx.host_view(taken)).tolist() == [2, 1, 0]


def test_strides_that_are_no_multiple_of_the_itemsize():
    record = np.zeros(4, [("a", "u1"), ("b", "f4")])
    with pytest.raises(BufferError, match="strides.*4 bytes.*ascontiguousarray"):
        sx.as_tensor(record["b"])
