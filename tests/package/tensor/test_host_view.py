# SPDX-License-Identifier: Apache-2.0
"""`host_view`: the bytes of anything, offered as host memory."""

import numpy as np
import pytest

import sycl_ext as sx
from needs import needs
from producers import check_export
from samples import bits, values
from sycl_ext import _core


def numbers(usm_type="shared", shape=(2, 3)):
    return sx.empty(shape, usm_type=usm_type).copy_from(values(shape))


@pytest.mark.parametrize("copy", [None, False, True])
def test_host_view_is_a_view_or_a_copy_as_asked(copy, usm_type):
    tensor = numbers(usm_type)
    reached = tensor.device.host_accessible(usm_type)
    if copy is False and not reached:
        with pytest.raises(sx.CopyRefusedError, match="the host cannot access the memory"):
            sx.host_view(tensor, copy=copy)
        return
    view = sx.host_view(tensor, copy=copy)
    assert view.is_copy == (bool(copy) or not reached) == (view.ptr != tensor.ptr)
    assert view.__dlpack_device__() == (1, 0)
    assert (view.shape, view.strides, view.dtype) == (tensor.shape, tensor.strides, tensor.dtype)
    assert not view.readonly
    assert ("copy" if view.is_copy else "view") in repr(view)
    check_export(view)


@pytest.mark.parametrize("usm_type", ["shared", "host"])
def test_host_view_with_negative_strides_is_copied(usm_type):
    """The C exchange table hands out such views; torch ends the process on one."""
    tensor = numbers(usm_type)[::-1]
    given = _core.as_host_view(tensor, source=tensor)
    assert given.strides == (-3, 1)
    view = sx.host_view(given)
    assert (view.strides, view.is_copy) == ((3, 1), True)
    assert bits(np.asarray(view)) == bits(values((2, 3))[::-1])
    with pytest.raises(sx.CopyRefusedError, match="negative stride"):
        sx.host_view(given, copy=False)


@needs("system_usm")
def test_base():
    tensor, array = numbers(), values(3)
    view = sx.host_view(tensor)
    assert view.base is tensor
    assert sx.host_view(tensor[1:]).base is tensor
    assert sx.host_view(sx.as_tensor(array)).base is array
    for copy in (None, False):
        assert sx.host_view(view, copy=copy).base is tensor


def test_host_memory_is_on_no_device():
    """A property of Tensor, read of another object."""
    view = sx.host_view(bytearray(3))
    with pytest.raises(ValueError, match="which does not belong to a SYCL device"):
        sx.Tensor.device.fget(view)
