# SPDX-License-Identifier: Apache-2.0
"""`host_view`: the bytes of anything, offered as host memory."""

import dpctl
import dpnp
import numpy as np
import pytest

import samples
import sycl_ext as sx
from dlpack_ctypes import IS_COPIED, managed_in
from producers import AlwaysCopying, BeforeVersions, Liar, Producer, check_export, over
from samples import LAYOUTS, bits, values


def numbers(usm_type="shared", shape=(2, 3)):
    return sx.empty(shape, usm_type=usm_type).copy_from(values(shape))


def test_a_view_where_the_host_reaches(usm_type):
    tensor = numbers(usm_type)
    for copy in (None, False):
        view = sx.host_view(tensor, copy=copy)
        assert not view.is_copy
        assert view.ptr == tensor.ptr
        assert view.__dlpack_device__() == (1, 0)
        assert (view.shape, view.strides, view.dtype) == (
            tensor.shape,
            tensor.strides,
            tensor.dtype,
        )
        assert not view.readonly
        assert "view" in repr(view)
        check_export(view)


def test_a_copy_on_demand(usm_type):
    tensor = numbers(usm_type)
    view = sx.host_view(tensor, copy=True)
    assert view.is_copy
    assert view.ptr != tensor.ptr
    tensor.copy_from(np.zeros((), "float32"))
    assert bits(np.asarray(view)) == bits(values((2, 3)))
    assert "copy" in repr(view)
    check_export(view)


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_layout(name, usm_type):
    for dtype in samples.DTYPE_NAMES:
        tensor, array = LAYOUTS[name].tensor(dtype, usm_type)
        view = sx.host_view(tensor)
        assert bits(np.asarray(view)) == bits(array)
        assert view.is_copy == (array.size > 0 and min(tensor.strides, default=0) < 0)
        assert all(stride >= 0 for stride in view.strides)


def private_queue():
    device = dpctl.SyclDevice()
    return dpctl.SyclQueue(dpctl.SyclContext([device]), device)


SOURCES = {
    "array": lambda array: array,
    "bytes": lambda array: array.tobytes(),
    "memoryview": memoryview,
    "dpnp": dpnp.asarray,
    "tensor": lambda array: sx.as_tensor(array).copy(),
    "system tensor": sx.as_tensor,
    "host view": sx.host_view,
    "producer": Producer,
    "old producer": BeforeVersions,
    "producer of USM": lambda array: Producer(sx.as_tensor(array).copy()),
    "producer of copies": lambda array: AlwaysCopying(sx.as_tensor(array).copy()),
    "dpnp in a private context": lambda array: dpnp.asarray(array, sycl_queue=private_queue()),
}  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
def test_every_source(source):
    array = values((2, 3), "int32")
    view = sx.host_view(SOURCES[source](array))
    assert bits(np.asarray(view)) == bits(array)
    assert bits(np.from_dlpack(view)) == bits(array) or source == "bytes"
    assert bits(memoryview(view)) == bits(array)
    assert not view.is_copy
    assert repr(view).startswith("HostView(shape=")


def test_base():
    tensor = numbers()
    assert sx.host_view(tensor).base is tensor


def test_array_protocol():
    view = sx.host_view(numbers())
    assert np.shares_memory(np.asarray(view), np.from_dlpack(view))
    assert not np.shares_memory(np.array(view), np.asarray(view))
    assert np.asarray(view, dtype="float64").dtype == "float64"
    with pytest.raises(ValueError, match="copy"):
        np.asarray(view, dtype="float64", copy=False)
    assert not np.shares_memory(view.__array__(copy=True), np.asarray(view))
    assert not np.shares_memory(view.__array__("float64", copy=True), np.asarray(view))


def test_attributes():
    view = sx.host_view(numbers())
    assert (view.ndim, view.size, view.itemsize, view.nbytes) == (2, 6, 4, 24)


def test_what_is_refused():
    with pytest.raises(BufferError, match=r"\(2, 0\)"):
        sx.host_view(Liar(values(3), (2, 0)))
    managed = over(values(3), device=(2, 0))
    with pytest.raises((BufferError, TypeError)):
        sx.host_view(managed.capsule())


def test_to_usm_and_back():
    """A host view is a producer for this package, too."""
    view = sx.host_view(values((2, 3)))
    tensor = sx.from_dlpack(view, copy=True)
    assert tensor.usm_type in samples.USM_TYPES
    assert bits(tensor.to_numpy()) == bits(values((2, 3)))
    assert managed_in(view.__dlpack__(copy=True, max_version=(1, 0))).flags == IS_COPIED


def test_host_memory_is_on_no_device():
    """A method of Tensor, called on what is none."""
    view = sx.host_view(bytearray(3))
    for call in (sx.Tensor.device.fget, sx.Tensor.__copy__):
        with pytest.raises(ValueError, match="plain host memory, which belongs to no SYCL device"):
            call(view)
