# SPDX-License-Identifier: Apache-2.0
"""Operations that a tensor does not have: the error names a replacement."""

import operator

import dpnp
import numpy as np
import pytest
import torch

import sycl_ext as sx
from sycl_ext._tensor import array

WAY = r"does not compute.* use an array library .*x\.to_numpy\(\)"


def tensor():
    return sx.zeros((2, 2), "int32", usm_type="shared")


def both():
    return tensor(), sx.host_view(tensor())


def assert_refused(compute, *operands):
    with pytest.raises(TypeError, match=WAY):
        compute(*operands)


def test_operators():
    """Python refuses them: there are none."""
    for x in both():
        for compute in (operator.add, operator.matmul, operator.lt, operator.iadd):
            for other in (1, 1.5, None, *both(), object()):
                for operands in ((x, other), (other, x)):
                    with pytest.raises(TypeError, match="not supported between|unsupported oper"):
                        compute(*operands)
        with pytest.raises(TypeError, match="bad operand"):
            operator.neg(x)


def test_equality():
    """Of the same object, or of elements, which a tensor does not compute."""
    for x in both():
        assert operator.eq(x, x) is True
        assert operator.ne(x, x) is False
        assert x in {x}
        assert x != None  # noqa: E711
        assert x != "text"
        for other in (0, 0.0, 1j, *both()):
            for compare in (operator.eq, operator.ne):
                assert_refused(compare, x, other)
                assert_refused(compare, other, x)
        assert (x == np.zeros((2, 2))).all()
        assert (np.zeros((2, 2)) == x).all()


def test_numpy_computes_with_tensors():
    """Its arrays take whatever is an array to them; those of others may not."""
    x, ones = tensor(), np.ones((2, 2), "int32")
    for compute in (operator.add, operator.mul, operator.matmul, operator.lt):
        assert np.array_equal(compute(x, ones), compute(x.to_numpy(), ones))
        assert np.array_equal(compute(ones, x), compute(ones, x.to_numpy()))
        if compute is not operator.matmul:
            assert np.array_equal(compute(x, np.int32(2)), compute(x.to_numpy(), 2))
    for others in (torch.ones(2, 2), dpnp.ones((2, 2))):
        with pytest.raises(TypeError):
            others * tensor()


def test_methods():
    for x in both():
        for name in (*array.COMPUTING, *array.ELSEWHERE):
            assert not hasattr(x, name)
            assert not hasattr(type(x), name)
            assert name not in {*dir(x), *dir(type(x))}
            words = rf"{type(x).__name__} has no {name}.* use .*x\."
            with pytest.raises(AttributeError, match=words):
                getattr(x, name)
        with pytest.raises(AttributeError, match="no attribute 'bogus'"):
            x.bogus  # noqa: B018
        assert "to_numpy" in dir(x)


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
