# SPDX-License-Identifier: Apache-2.0
"""The buffer protocol: each request gets what it asked for, or a BufferError that says why."""

import contextlib
import sys

import numpy as np
import pytest

import buffers
import sycl_ext as sx
from samples import LAYOUTS

NAMES = "SIMPLE ND STRIDES C_CONTIGUOUS F_CONTIGUOUS ANY_CONTIGUOUS INDIRECT"
REQUESTS = {name: getattr(buffers, name) for name in NAMES.split()}


def granted(array, request):
    """Whether NumPy grants the request, for an array of the same layout."""
    try:
        buffers.ask(array, request)
    except (BufferError, ValueError):
        return False
    return True


@pytest.mark.parametrize("request_name", REQUESTS)
@pytest.mark.parametrize("name", LAYOUTS)
def test_requests(name, request_name):
    request = REQUESTS[request_name]
    tensor, array = LAYOUTS[name].tensor("int32", "shared")
    if not array.flags.writeable:  # broadcast
        array = np.lib.stride_tricks.as_strided(array, writeable=True)
    if not granted(array, request):
        with pytest.raises(BufferError, match="contiguous"):
            buffers.ask(tensor, request)
        return
    for flags in (request, request | buffers.WRITABLE, request | buffers.FORMAT):
        result = buffers.ask(tensor, flags)
        assert result["len"] == array.nbytes
        assert result["itemsize"] == 4
        assert not result["readonly"]
        assert not result["suboffsets"]
        assert result["format"] == (b"i" if flags & buffers.FORMAT else None)
        if array.size:
            assert result["buf"] == tensor.ptr
        if request & buffers.ND and array.ndim:
            assert result["ndim"] == array.ndim
            assert result["shape"] == array.shape
        if request & buffers.STRIDES == buffers.STRIDES and array.ndim:
            assert result["strides"] == tuple(stride * 4 for stride in tensor.strides)
        else:
            assert not result["strides"]


@pytest.mark.parametrize("request_name", REQUESTS)
def test_read_only(request_name):
    request = REQUESTS[request_name]
    tensor = sx.zeros(3, usm_type="shared").as_readonly()
    assert buffers.ask(tensor, request)["readonly"]
    with pytest.raises(BufferError, match="read-only"):
        buffers.ask(tensor, request | buffers.WRITABLE)


def test_requests_leave_the_tensor_as_it_was():
    tensor = sx.zeros((2, 3), usm_type="shared")
    before = sys.getrefcount(tensor)
    for request in (*REQUESTS.values(), buffers.FULL):
        for view in (tensor, tensor.T):
            with contextlib.suppress(BufferError):
                buffers.ask(view, request)
    del view
    buffers.ask(tensor, buffers.FULL, writes=True)
    assert (tensor.shape, sys.getrefcount(tensor)) == ((2, 3), before)


def test_host_view_has_the_same_buffer():
    tensor, _ = LAYOUTS["sliced"].tensor("float64", "shared")
    assert buffers.ask(sx.host_view(tensor), buffers.FULL) == buffers.ask(tensor, buffers.FULL)
