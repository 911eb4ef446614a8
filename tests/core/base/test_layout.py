# SPDX-License-Identifier: Apache-2.0
"""Shapes and strides: compact layouts, contiguity, and every number that could overflow."""

import dpctl.memory
import numpy as np
import pytest

import sycl_ext as sx
from producers import Managed, over
from samples import LAYOUTS, strides_of

SHAPES = [(), (1,), (5,), (2, 3), (1, 3), (3, 1), (2, 3, 4), (4, 1, 3, 1, 2), (1,) * 7]
HUGE = 2**62


@pytest.mark.parametrize("order", ["C", "F"])
def test_compact_strides_are_those_of_numpy(order):
    for shape in SHAPES:
        tensor = sx.empty(shape, "int16", order=order)
        assert tensor.strides == strides_of(np.empty(shape, "int16", order=order))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0, 2)])
def test_empty_tensor_strides_are_positive(shape):
    assert all(stride > 0 for stride in sx.empty(shape).strides)


@pytest.mark.parametrize("name", LAYOUTS)
def test_contiguity_is_that_of_numpy(name):
    tensor, array = LAYOUTS[name].tensor("int32")
    buffer = memoryview(tensor)
    if array.size:
        assert buffer.c_contiguous == array.flags.c_contiguous
        assert buffer.f_contiguous == array.flags.f_contiguous
    assert (tensor.__sycl_usm_array_interface__["strides"] is None) == array.flags.c_contiguous


def test_dimensions():
    assert sx.empty((1,) * 64).ndim == 64
    with pytest.raises(ValueError, match="ndim is 65"):
        sx.empty((1,) * 65)


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((HUGE,), "int16"),
        ((2**32, 2**31), "int8"),
        ((2**32, 2**32, 2**32), "int8"),
        ((2**60,), "float64"),
        ((0, HUGE, 2), "int8"),  # NumPy also leaves the zero out
        ((2**63 - 1,), "int16"),
        ((2**63,), "int8"),
        ((2**200,), "int8"),
    ],
)
def test_size_beyond_the_address_space_is_refused(shape, dtype):
    with pytest.raises(ValueError, match="address space"):
        sx.empty(shape, dtype)


def test_size_beyond_the_memory_is_a_memory_error(usm_type):
    with pytest.raises(MemoryError, match=rf"{2**50} bytes.*'{usm_type}' USM.*device 0"):
        sx.empty(2**50, "int8", usm_type=usm_type)


@pytest.mark.parametrize(
    ("shape", "strides", "word"),
    [
        ((HUGE, 4), (0, 0), "address space"),
        ((2,), (HUGE,), "overflow"),
        ((2,), (-(HUGE // 4),), "address space"),
        ((2**40, 2**40), None, "address space"),
    ],
)
def test_host_extent_that_overflows_is_refused(shape, strides, word):
    managed = over(np.zeros(4, "float32"), shape=shape, strides=strides)
    with pytest.raises(BufferError, match=word):
        sx.from_dlpack(managed.capsule())
    assert managed.deleted == 1


def test_array_in_the_null_page_is_refused():
    managed = Managed(8, (4,), (-1,), dtype="float32")
    with pytest.raises(BufferError, match="address space"):
        sx.from_dlpack(managed.capsule())
    assert managed.deleted == 1


def test_usm_extent_is_checked_to_the_last_byte(usm_type):
    """The memory is dpctl's: exactly 40 bytes."""
    memory = getattr(dpctl.memory, f"MemoryUSM{usm_type.title()}")(40)
    first, last = memory._pointer, memory._pointer + 36

    def taken(data=first, shape=(10,), strides=(1,), **fields):
        return Managed(data, shape, strides, device=(14, 0), keep=memory, **fields)

    for managed in (
        taken(),
        taken(shape=(4,), strides=(3,)),
        taken(last, (4,), (-3,)),
        taken(first, (9,), byte_offset=4),
    ):
        tensor = sx.from_dlpack(managed.capsule())
        assert tensor.usm_type == usm_type
        assert tensor.ptr == managed._struct.dl_tensor.data + managed._struct.dl_tensor.byte_offset
    for managed in (
        taken(shape=(11,)),
        taken(shape=(2,), strides=(-1,)),
        taken(byte_offset=1),
        taken(last, (4,), (-4,)),
        taken(shape=(2, 2), strides=(9, 1)),
    ):
        with pytest.raises(BufferError, match="USM"):
            sx.from_dlpack(managed.capsule())
        assert managed.deleted == 1
