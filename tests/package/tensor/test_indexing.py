# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of views, against NumPy."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, basic_indices

import sycl_ext as sx
from samples import strides_of
from sycl_ext._tensor.indexing import as_shape, broadcast_strides, index_view, resolve_reshape

settings.register_profile("everyday", max_examples=200, deadline=None, derandomize=True)
settings.load_profile("everyday")

shapes = array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
steps = st.integers(-6, 6)
keys = st.one_of(
    steps,
    st.none(),
    st.just(...),
    st.builds(
        slice,
        st.none() | steps,
        st.none() | steps,
        st.none() | steps.filter(lambda step: step != 0),
    ),
)


def numbered(shape):
    """An array whose elements are their own offsets, in the order of its memory."""
    return np.arange(np.prod(shape, dtype=int)).reshape(shape)


def elements(view, memory):
    """The elements that a view selects from a flat array."""
    offset, shape, strides = view
    offsets = np.full(shape, offset)
    for axis, (length, stride) in enumerate(zip(shape, strides, strict=True)):
        steps = np.arange(length) * stride
        offsets = offsets + steps.reshape((-1,) + (1,) * (len(shape) - axis - 1))
    return memory[offsets] if offsets.size else np.empty(shape, int)


def same_as_numpy(array, key):
    memory = np.arange(array.size)
    try:
        wanted = array[key]
    except IndexError:
        with pytest.raises(IndexError):
            index_view(array.shape, strides_of(array), key)
        return
    view = index_view(array.shape, strides_of(array), key)
    offset, shape, _ = view
    assert shape == wanted.shape
    np.testing.assert_array_equal(elements(view, memory), wanted)
    if wanted.size:
        assert 0 <= offset < array.size


@given(st.data())
def test_basic_indices(data):
    array = numbered(data.draw(shapes))
    same_as_numpy(array, data.draw(basic_indices(array.shape, allow_newaxis=True)))


@given(shapes, st.one_of(keys, st.lists(keys, max_size=6).map(tuple)))
def test_generated_key_is_right_or_an_index_error(shape, key):
    same_as_numpy(numbered(shape), key)


@given(shapes, st.lists(keys, max_size=3).map(tuple), st.lists(keys, max_size=3).map(tuple))
def test_view_of_a_view_is_that_of_numpy(shape, first, second):
    array = numbered(shape)
    try:
        wanted = array[first][second]
    except IndexError:
        return
    start, *outer = index_view(array.shape, strides_of(array), first)
    offset, shape, strides = index_view(*outer, second)
    assert shape == wanted.shape
    view = (start + offset, shape, strides)
    np.testing.assert_array_equal(elements(view, np.arange(array.size)), wanted)


@pytest.mark.parametrize("key", [True, np.True_, 1.0, "a", [0], np.array([0, 1]), (0, [1])])
def test_not_basic(key):
    with pytest.raises(
        IndexError, match=f"{type(key[-1] if type(key) is tuple else key).__name__}"
    ):
        index_view((3, 4), (4, 1), key)


@pytest.mark.parametrize("step", [sys.maxsize, -sys.maxsize, -sys.maxsize - 1, 1 << 61, 1 << 70])
def test_huge_step_gives_the_view_of_numpy(step):
    array = numbered((2, 3))
    everything = slice(None, None, step)
    for key in (everything, (slice(None), everything), (everything, everything), slice(1, 1, step)):
        same_as_numpy(array, key)
        tensor = sx.as_tensor(array)
        result = tensor[key]
        wanted = array[key]
        np.testing.assert_array_equal(result.to_numpy(), wanted)
        np.testing.assert_array_equal(result.copy().to_numpy(), wanted)
        # A view of the view is as good.
        np.testing.assert_array_equal(result[everything].to_numpy(), wanted[everything])
        np.testing.assert_array_equal(sx.from_dlpack(result).to_numpy(), wanted)


def test_stride_of_one_element_may_be_the_smallest_int64():
    array = np.lib.stride_tricks.as_strided(np.ones(1, "int8"), strides=[-1 << 63])
    assert sx.as_tensor(array)[::-1][::-1].to_numpy() == [1]


def test_numpy_integers_are_integers():
    assert index_view((3, 4), (4, 1), (np.int8(-1), np.uint64(2))) == (10, (), ())


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (3, "index 3.*axis 0 with size 3"),
        ((0, -5), "index -5.*axis 1 with size 4"),
        ((0, 0, 0), "2 dimensions, but 3 were indexed"),
        ((..., ...), "only one ellipsis"),
    ],
)
def test_messages(key, words):
    with pytest.raises(IndexError, match=words):
        index_view((3, 4), (4, 1), key)


@given(shapes, st.lists(st.integers(-1, 8), max_size=4).map(tuple))
def test_reshape(shape, target):
    array = numbered(shape)
    try:
        wanted = array.reshape(target).shape
    except ValueError:
        with pytest.raises(ValueError, match="shape|length"):
            resolve_reshape(array.size, target)
    else:
        assert resolve_reshape(array.size, target) == wanted


@pytest.mark.parametrize("target", [(4, -2), (-1, -2), (2, 1 << 63)])
def test_reshape_names_a_length_that_is_refused(target):
    with pytest.raises(ValueError, match=rf"shape\[1\] is {target[1]}"):
        resolve_reshape(4, target)


@given(st.data())
def test_reshape_with_one_wild_length(data):
    shape = data.draw(array_shapes(min_dims=1, max_dims=4, max_side=4))
    wild = data.draw(st.integers(0, len(shape) - 1))
    target = (*shape[:wild], -1, *shape[wild + 1 :])
    assert resolve_reshape(int(np.prod(shape)), target) == shape


@given(shapes, shapes)
def test_broadcast(shape, target):
    array = numbered(shape)
    try:
        wanted = np.broadcast_to(array, target)
    except ValueError:
        with pytest.raises(ValueError, match="shape"):
            broadcast_strides(shape, strides_of(array), target)
    else:
        strides = broadcast_strides(shape, strides_of(array), target)
        assert len(strides) == len(target)
        steps = [stride for stride, length in zip(strides, target, strict=True) if length > 1]
        assert steps == [
            stride for stride, length in zip(strides_of(wanted), target, strict=True) if length > 1
        ]


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [(3, (3,)), (np.int64(3), (3,)), ((), ()), ([2, 3], (2, 3)), (np.array([2, 3]), (2, 3))],
)
def test_as_shape(shape, wanted):
    assert as_shape(shape) == wanted
    assert all(type(length) is int for length in as_shape(shape))
