# SPDX-License-Identifier: Apache-2.0
"""The copy engine between memories that the host reaches: any strides on both sides.

The same for memory that the host cannot touch is in ``environments/stand_in_gpu``.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import samples
import sycl_ext as sx
from needs import needs
from producers import as_strided
from samples import SAME_SHAPE, SHAPE, Layout, assert_equal, bits, values

BROADCAST = {
    "broadcast": Layout((1, 4, 1), view=lambda base: np.broadcast_to(base, SHAPE)),
    "broadcast last": Layout((3, 4, 1), view=lambda base: np.broadcast_to(base, SHAPE)),
}
#: The last one: no entry, plain host memory.
KINDS = (*samples.USM_TYPES, "array")


def source_of(layout, dtype, kind, seed):
    if kind == "array":
        array = layout.arrays(dtype, seed)[1]
        return array, array
    return layout.tensor(dtype, kind, seed=seed)


@pytest.mark.parametrize("dtype", ["uint8", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("kind", KINDS)
def test_copy_between_each_pair_of_layouts(dtype, kind):
    """Elements of 1, 2, 4, 8 and 16 bytes."""
    for source_layout in (*SAME_SHAPE.values(), *BROADCAST.values()):
        source, wanted = source_of(source_layout, dtype, kind, seed=2)
        for layout in SAME_SHAPE.values():
            base, target_array = layout.arrays(dtype)
            whole = sx.empty(layout.shape, dtype, order=layout.order).copy_from(base)
            target = as_strided(whole, *samples.strided_form(base, target_array))
            target.copy_from(source)
            target_array[...] = wanted
            assert bits(whole.to_numpy()) == bits(base)  # and what lies between is untouched


@pytest.mark.parametrize("order", ["C", "F"])
def test_sizes_around_a_tile(order):
    """The engine works in tiles of 16 or 32 elements."""
    for dtype in ("uint8", "int16", "float32", "float64", "complex128"):
        for rows in (1, 2, 15, 16, 17, 31, 32, 33, 65):
            for columns in (1, 16, 33):
                array = values((rows, columns), dtype)
                tensor = sx.as_tensor(array.T)
                assert_equal(tensor.copy(order), array.T)


def test_blocks_of_millions():
    array = np.arange(3_000_000, dtype="int32").reshape(100, 300, 100)
    tensor = sx.empty(array.shape, "int32").copy_from(array)
    assert_equal(tensor.T.copy(), array.T)
    assert_equal(tensor[::-1, ::3].copy("F"), array[::-1, ::3])
    assert sx.empty((100, 300, 100), "int32").copy_from(tensor[:, :1]).to_numpy().sum() == (
        array[:, :1].sum(dtype="int64") * 300
    )


axes = st.lists(
    st.tuples(st.integers(0, 6), st.integers(1, 3), st.integers(0, 2), st.booleans()),
    max_size=5,
)


@st.composite
def views(draw):
    """A shape, and a function that returns the same view of each array of this shape.

    Its axes have any length, step, start and direction, in any order of memory.
    """
    chosen = draw(axes)
    shape = tuple(count * step + start for count, step, start, _ in chosen)
    keys = tuple(
        slice(start, start + count * step, step) if not backwards
        else slice(start + count * step - 1, start - 1 if start else None, -step)
        for count, step, start, backwards in chosen
    )  # fmt: skip
    keys = (*keys, ...)  # also a view of 0 dimensions
    order = draw(st.permutations(range(len(chosen))))
    return tuple(shape[axis] for axis in order), lambda base: base.transpose(np.argsort(order))[
        keys
    ]


any_strides = given(views(), st.sampled_from(["int8", "int16", "float32", "complex64"]))


@settings(max_examples=200, deadline=None, derandomize=True)
@any_strides
def test_copy_of_generated_strides(of, dtype):
    shape, view_of = of
    view = view_of(values(shape, dtype))
    tensor = sx.as_tensor(view)
    assert_equal(tensor, view)
    for memory_order in "CF":
        assert_equal(tensor.copy(memory_order), view)
    base = values(shape, dtype, seed=3)
    whole = sx.empty(shape, dtype).copy_from(base)
    as_strided(whole, *samples.strided_form(base, view_of(base))).copy_from(view)
    view_of(base)[...] = view
    assert bits(whole.to_numpy()) == bits(base)


@needs("system_usm")
@settings(max_examples=200, deadline=None, derandomize=True)
@any_strides
def test_copy_to_an_array_of_generated_strides(of, dtype):
    shape, view_of = of
    view = view_of(values(shape, dtype))
    base = values(shape, dtype, seed=3)
    wanted = base.copy()
    view_of(wanted)[...] = view
    sx.as_tensor(view_of(base)).copy_from(view)
    assert bits(base) == bits(wanted)


#: Shape and strides of targets whose indices share elements.
SHARED = [
    ((3,), (0,)),
    ((3, 2), (0, 1)),
    ((2, 3), (1, 1)),  # windows
    ((2, 3), (1, -1)),
    ((4, 4), (2, 3)),
    ((2, 2, 3), (3, 3, 4)),
    ((7, 5, 4), (15, 10, 6)),
]


def assert_refused(target, source):
    for wait in (True, False):
        with pytest.raises(BufferError, match=r"may overlap.*copy into a tensor"):
            target.copy_from(source, wait=wait)
    for mode in ("w", "rw"):
        with pytest.raises(BufferError, match="may overlap"), sx.staged(target, mode):
            pass


@pytest.mark.parametrize(("shape", "strides"), SHARED)
def test_target_whose_indices_share_elements_is_refused(shape, strides, usm_type):
    """As NumPy refuses a broadcast view; the order in which elements are written is nobody's."""
    whole = sx.zeros(200, usm_type=usm_type)
    target = as_strided(whole, shape, strides, 100)
    assert_refused(target, np.ones(shape, "float32"))
    assert_refused(target, sx.zeros(1))
    assert not whole.to_numpy().any()
    assert target.copy().copy_from(np.float32(1)).to_numpy().all()
    with sx.staged(target, "r") as memory:
        assert memory.shape == shape


def is_nested(shape, strides):
    """Whether each axis steps over all that the axes with shorter steps reach."""
    reach = 0
    for step, length in sorted((abs(step), n) for n, step in zip(shape, strides, strict=True)):
        if length > 1 and step <= reach:
            return False
        reach += step * (length - 1)
    return True


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-9, 9)), max_size=4))
def test_target_is_refused_unless_its_axes_are_nested(axes):
    """So no target is taken whose indices share elements."""
    shape, strides = tuple(n for n, _ in axes), tuple(step for _, step in axes)
    places = sum(
        (step * index for step, index in zip(strides, np.indices(shape), strict=True)),
        np.zeros(shape, int),
    )
    target = as_strided(sx.zeros(400, "uint8", usm_type="shared"), shape, strides, 200)
    if not places.size or is_nested(shape, strides):
        assert len(np.unique(places)) == places.size
        target.copy_from(np.ones(shape, "uint8"))
        assert np.asarray(target).all()
    else:
        assert_refused(target, np.uint8(1))


def test_unaligned_elements():
    """A buffer may start anywhere."""
    raw = np.zeros(3 * 8 + 3, "uint8")
    unaligned = raw[3:].view("float64")
    unaligned[:] = [1, 2, 3]
    assert sx.as_tensor(unaligned).copy().to_numpy().tolist() == [1, 2, 3]
    assert sx.as_tensor(unaligned)[::-2].copy().to_numpy().tolist() == [3, 1]
