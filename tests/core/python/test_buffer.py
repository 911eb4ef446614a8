# SPDX-License-Identifier: Apache-2.0
"""The buffer protocol: each request gets what it asked for, or a BufferError that says why."""

import contextlib
import hashlib
import hmac
import sys

import pytest

import buffers
import sycl_ext as sx
from samples import LAYOUTS, Layout

try:
    import _testbuffer  # not in every Python of a distribution
except ImportError:
    _testbuffer = None

NAMES = "SIMPLE ND STRIDES C_CONTIGUOUS F_CONTIGUOUS ANY_CONTIGUOUS INDIRECT"
REQUESTS = {name: getattr(buffers, name) for name in NAMES.split()}


SHAPES = {
    **LAYOUTS,
    "1-D": Layout((4,)),
    "1-D sliced": Layout((8,), view=lambda base: base[::2]),
    "one row": Layout((1, 3)),
    "3-D": Layout((2, 3, 4)),
    "3-D F": Layout((2, 3, 4), "F"),
    "3-D sliced": Layout((2, 6, 4), view=lambda base: base[:, ::2, 1:]),
}


def answer(exporter, flags):
    """The fields of a buffer; None: the request is refused."""
    try:
        return buffers.ask(exporter, flags)
    except (BufferError, ValueError):  # the second is NumPy's
        return None


def axes(result):
    """The shape and the strides, without those of axes that are never stepped along."""
    shape, strides = result["shape"], result["strides"]
    if strides and 0 in shape:
        strides = (None,) * len(shape)
    elif strides:
        strides = tuple(None if n == 1 else step for n, step in zip(shape, strides, strict=True))
    return shape, strides


@pytest.mark.parametrize("more", [0, buffers.WRITABLE, buffers.FORMAT, buffers.FULL & 0xF])
@pytest.mark.parametrize("request_name", REQUESTS)
@pytest.mark.parametrize("name", SHAPES)
def test_requests(name, request_name, more):
    """Each is answered as NumPy answers it, and with the axes of CPython's own exporter."""
    flags = REQUESTS[request_name] | more
    tensor, array = SHAPES[name].tensor("int32", "shared")
    if not array.flags.writeable:  # broadcast
        tensor = tensor.as_readonly()
    expected, result = answer(array, flags), answer(tensor, flags)
    assert (result is None) == (expected is None)
    if result is None:
        with pytest.raises(BufferError, match="contiguous|read-only"):
            buffers.ask(tensor, flags)
        return
    for field in ("len", "itemsize", "readonly", "ndim", "format", "suboffsets"):
        assert result[field] == expected[field], field
    assert axes(result) == axes(expected)
    if array.size:
        assert result["buf"] == tensor.ptr
    if _testbuffer and flags & buffers.ND and array.flags.writeable:
        cpythons = buffers.ask(_testbuffer.ndarray(array, getbuf=buffers.FULL), flags)
        assert (result["ndim"], axes(result)) == (cpythons["ndim"], axes(cpythons))


@pytest.mark.parametrize("name", SHAPES)
def test_readers_of_bytes(name):
    """They ask for no axes, and some look for them nevertheless."""
    tensor, array = SHAPES[name].tensor("int32", "shared")
    if not array.flags.c_contiguous:
        with pytest.raises(BufferError, match="contiguous"):
            hashlib.sha256(tensor)
        return
    assert hashlib.sha256(tensor).digest() == hashlib.sha256(array).digest()
    keyed = [hmac.new(b"key", data, "sha256").digest() for data in (tensor, array)]
    assert keyed[0] == keyed[1]
    assert buffers.ask_whether_contiguous(tensor, buffers.SIMPLE)
    if hasattr(array, "__buffer__"):  # Python 3.12
        assert tensor.__buffer__(0).nbytes == array.nbytes


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
