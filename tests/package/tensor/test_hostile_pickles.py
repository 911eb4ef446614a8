# SPDX-License-Identifier: Apache-2.0
"""Pickles and handles that somebody made up: an exception of the right type, or a sound tensor."""

import functools
import io
import pickle
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sycl_ext as sx
from generated import alive, attempt, cases
from sycl_ext import _core
from sycl_ext._exchange import dask
from sycl_ext._ipc import handles
from sycl_ext._tensor import pickling

NUMBERS = st.one_of(
    st.integers(-3, 9),
    st.sampled_from([1 << 31, (1 << 63) - 1, 1 << 63, -(1 << 63), 1 << 64, 1 << 200]),
)
TUPLES = st.lists(NUMBERS, max_size=5).map(tuple)
JUNK = st.one_of(
    st.none(),
    st.booleans(),
    NUMBERS,
    st.floats(),
    st.text(max_size=5),
    st.binary(max_size=40),
    TUPLES,
    st.lists(NUMBERS, max_size=3),
    st.just(object()),
    st.just(np.zeros(3)),
)
WORDS = st.one_of(
    st.just(("opencl", "cpu", 0, ())),
    st.tuples(
        st.sampled_from(["opencl", "cpu", ""]),
        st.sampled_from(["cpu", "gpu", "x"]),
        NUMBERS,
        st.lists(
            st.tuples(st.sampled_from(["numa", "equally 1", "counts 1 1", "counts"]), NUMBERS),
            max_size=3,
        ).map(tuple),
    ),
)


def or_junk(strategy):
    """Nearly right: now and then something else."""
    return st.one_of(strategy, strategy, strategy, JUNK)


PARTS = st.tuples(
    or_junk(st.just(pickling.FORMAT)),
    or_junk(st.sampled_from(["int16", "float32", "bfloat16", "bool"])),
    or_junk(TUPLES),
    or_junk(st.integers(0, 5).flatmap(lambda n: st.permutations(range(n))).map(tuple)),
    or_junk(st.sampled_from(["device", "shared", "host", "system"])),
    or_junk(st.booleans()),
    or_junk(WORDS),
)
BUFFERS = st.one_of(st.none(), st.binary(max_size=40), st.integers(0, 300).map(bytes), JUNK)


def check(tensor, nbytes):
    """A tensor of a pickle has no more memory than the pickle has bytes, and all of it is there."""
    if tensor is not None:
        assert type(tensor) is sx.Tensor
        assert _core.memory_of(tensor)[0] <= nbytes
        if tensor.nbytes < 1 << 20:
            tensor.to_numpy(copy=True)


@cases(150)
@given(PARTS, BUFFERS)
def test_parts_of_a_pickle(parts, buffer):
    before = alive()
    if buffer is None:  # as many bytes as the parts ask for, where that is a number
        try:
            shape, axes = parts[2], parts[3]
            nbytes = prod(shape[axis] for axis in axes) * pickling.ITEMSIZES[parts[1]]
            buffer = bytes(nbytes if 0 <= nbytes < 1 << 16 else 8)
        except (TypeError, KeyError, IndexError):
            buffer = bytes(8)
    refusals = (pickle.UnpicklingError, MemoryError, BufferError)
    tensor = attempt(lambda: pickling.load(*parts, buffer), *refusals)
    check(tensor, 0 if tensor is None else memoryview(buffer).nbytes)
    del tensor
    assert alive() == before


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


def handle():
    return sx.ipc.handle(sx.ipc.empty((2, 3), "int32", device="cpu"))


@cases(300)
@given(st.integers(0, 9), st.one_of(JUNK, TUPLES, WORDS), st.booleans())
def test_parts_of_a_handle(index, value, sycl):
    own = handle()
    parts = list(own.__reduce__()[1])
    if sycl:
        parts[0], parts[-1] = "sycl", bytes(64)
    parts[index] = value
    made = attempt(lambda: handles._read_handle(*parts), ValueError)
    opened = made and attempt(lambda: sx.ipc.open(made), BufferError)
    if opened is not None:
        assert opened.nbytes <= 24 or 0 in opened.strides


@pytest.mark.parametrize("junk", [{}, {"sycl_ext": []}, {"sycl_ext": [1] * 7}, {"sycl_ext": None}])
def test_headers_of_dask(junk):
    with pytest.raises((KeyError, TypeError, pickle.UnpicklingError)):
        dask.deserialize(junk, [b""])
