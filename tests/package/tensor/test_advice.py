# SPDX-License-Identifier: Apache-2.0
"""What a tensor does not do: the error names what does it."""

import operator

import dpnp
import numpy as np
import pytest
import torch

import sycl_ext as sx
from sycl_ext._tensor import advice

BINARY = [
    operator.add, operator.sub, operator.mul, operator.matmul, operator.truediv, operator.mod,
    operator.floordiv, divmod, pow, operator.lshift, operator.rshift, operator.and_, operator.or_,
    operator.xor, operator.lt, operator.le, operator.gt, operator.ge,
]  # fmt: skip
UNARY = [operator.neg, operator.pos, abs, operator.invert]
WAY = r"does not compute.* use an array library .*x\.to_numpy\(\)"


def tensor():
    return sx.zeros((2, 2), "int32", usm_type="shared")


def host_view():
    return sx.host_view(tensor())


@pytest.mark.parametrize("make", [tensor, host_view])
@pytest.mark.parametrize("compute", BINARY)
def test_operators(make, compute):
    x = make()
    repeats = compute in (operator.mul, operator.mod)  # as "text" * 3 and "%s" % 3 do
    for other in (1, 1.5, None, tensor(), host_view(), object(), *([] if repeats else ["", [1]])):
        for operands in ((x, other), (other, x)):
            with pytest.raises(TypeError, match=WAY):
                compute(*operands)


@pytest.mark.parametrize("compute", UNARY)
def test_unary_operators(compute):
    with pytest.raises(TypeError, match=WAY + "|dpnp.from_dlpack"):
        compute(tensor())


@pytest.mark.parametrize("make", [tensor, host_view])
def test_equality(make):
    """Of the same object, or of elements, which a tensor does not compute."""
    x = make()
    assert operator.eq(x, x) is True
    assert operator.ne(x, x) is False
    assert x in {x}
    assert x != None  # noqa: E711
    assert x != "text"
    for other in (0, 0.0, 1j, tensor(), host_view()):
        for compare in (operator.eq, operator.ne):
            for operands in ((x, other), (other, x)):
                with pytest.raises(TypeError, match=WAY):
                    compare(*operands)
    assert (x == np.zeros((2, 2))).all()
    assert (np.zeros((2, 2)) == x).all()


def test_in_place():
    x = tensor()
    with pytest.raises(TypeError, match=WAY):
        x += 1


@pytest.mark.parametrize("compute", [operator.add, operator.mul, operator.matmul, operator.lt])
def test_numpy_computes_with_tensors(compute):
    """Its arrays take whatever is an array to them."""
    x, ones = tensor(), np.ones((2, 2), "int32")
    zeros = x.to_numpy()
    assert np.array_equal(compute(x, ones), compute(zeros, ones))
    assert np.array_equal(compute(ones, x), compute(ones, zeros))
    if compute is not operator.matmul:
        assert np.array_equal(compute(x, np.int32(2)), compute(zeros, 2))


def test_arrays_that_do_not_know_us():
    with pytest.raises(TypeError, match=WAY):
        torch.ones(2, 2) * tensor()
    with pytest.raises(TypeError):
        tensor() + dpnp.ones((2, 2))


@pytest.mark.parametrize("name", [*advice.COMPUTING, *advice.ELSEWHERE])
def test_methods(name):
    for x in (tensor(), host_view()):
        assert not hasattr(x, name)
        assert not hasattr(type(x), name)
        assert name not in dir(x)
        with pytest.raises(AttributeError, match=rf"{type(x).__name__} has no {name}.* use .*x\."):
            getattr(x, name)


def test_the_advice_is_right():
    x = tensor()
    x.copy_from(np.asarray(3, x.dtype))
    assert x.to_numpy().sum() == dpnp.from_dlpack(x).sum() == 12
    assert x.reshape(-1).shape == (4,)


def test_other_names_are_missing_as_usual():
    with pytest.raises(AttributeError, match="no attribute 'bogus'"):
        tensor().bogus  # noqa: B018
    assert "to_numpy" in dir(tensor())


@pytest.mark.parametrize("make", [sx.empty, sx.zeros])
def test_a_shape_of_several_arguments(make):
    with pytest.raises(TypeError, match=r"the shape is one argument, a tuple: \(2, 3\)"):
        make(2, 3)
    with pytest.raises(TypeError, match="the shape is one argument, a tuple"):
        make(2, 3, 4)


def test_dtypes_of_torch():
    for name in ("float32", "bool", "bfloat16", "complex64", "float8_e4m3fn", "uint16"):
        assert sx.zeros(2, getattr(torch, name)).dtype_name == name
    with pytest.raises(ValueError, match="dtype torch.qint8 is not exchanged; convert it"):
        sx.zeros(2, torch.qint8)


class WithArray:
    def __array__(self):
        return np.ones(2)


def test_what_offers_no_memory_has_a_way():
    with pytest.raises(TypeError, match="object of type object offers no memory.*pass an array"):
        sx.as_tensor(object())
    for x in ([1, 2], WithArray()):
        with pytest.raises(TypeError, match=r"of type \w+ offers no memory.*numpy.asarray"):
            sx.as_tensor(x)
        assert sx.as_tensor(np.asarray(x)).shape == (2,)
