# SPDX-License-Identifier: Apache-2.0
"""Pickles and handles that somebody made up: an exception of the right type, or a sound tensor."""

import functools
import io
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sycl_ext as sx
from generated import attempt, cases
from sycl_ext import _core
from sycl_ext._exchange import dask


def check(tensor, nbytes):
    """A tensor of a pickle has no more memory than the pickle has bytes, and all of it is there."""
    if tensor is not None:
        assert type(tensor) is sx.Tensor
        assert _core.memory_of(tensor)[0] <= nbytes
        if tensor.nbytes < 1 << 20:
            tensor.to_numpy(copy=True)


class Ours(pickle._Unpickler):
    """The unpickler of a careful receiver: only names of this package.

    In Python: the one in C takes gigabytes for its memo when a number in the bytes tells it to.
    """

    def find_class(self, module, name):
        if (module, name) in (
            ("sycl_ext._tensor.pickling", "load"),
            ("sycl_ext._ipc.handles", "_read_handle"),
        ):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name}")


@functools.cache
def seeds():
    tensors = [
        sx.zeros((2, 3), "int16"),
        sx.zeros((3, 4), order="F").as_readonly(),
        sx.zeros(5, "bfloat16", usm_type="host", device=sx.device().create_sub_devices(1)[0]),
    ]
    handles = [sx.ipc.handle(sx.ipc.empty((2, 3), device="cpu"))]
    return [pickle.dumps(obj, protocol) for obj in tensors + handles for protocol in (4, 5)]


@cases(600)
@given(st.data())
def test_bytes_of_a_pickle(data):
    changed = bytearray(data.draw(st.sampled_from(seeds())))
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(changed) - 1))
        changed[position] = data.draw(st.integers(0, 255))
    try:
        found = Ours(io.BytesIO(bytes(changed))).load()
    except Exception:  # whatever pickle raises for such bytes
        return
    if isinstance(found, sx.Tensor):
        check(found, len(changed))
    elif isinstance(found, sx.ipc.Handle):
        attempt(lambda: sx.ipc.open(found), BufferError)


@pytest.mark.parametrize("junk", [{}, {"sycl_ext": []}, {"sycl_ext": [1] * 7}, {"sycl_ext": None}])
def test_headers_of_dask(junk):
    with pytest.raises((KeyError, TypeError, pickle.UnpicklingError)):
        dask.deserialize(junk, [b""])
