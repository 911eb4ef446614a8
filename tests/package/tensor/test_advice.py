# SPDX-License-Identifier: Apache-2.0
"""Operations that a tensor does not have: the error names a replacement."""

import operator
import pickle
import re

import numpy as np
import pytest
import torch

import sycl_ext as sx
from needs import needs
from sycl_ext._tensor import refusals

WAY = r"does not support .* use an array library .*x\.to_numpy\(\)"


def tensor():
    return sx.zeros((2, 2), "int32", usm_type="shared")


def both():
    return tensor(), sx.host_view(tensor())


def assert_refused(compute, *operands):
    with pytest.raises(TypeError, match=WAY):
        compute(*operands)


class Theirs:
    """An array of another library that would compute with any operand on its left."""

    def __lt__(self, other):
        return "computed"

    __radd__ = __rmatmul__ = __rpow__ = __gt__ = __le__ = __ge__ = __lt__


OPERATORS = (operator.add, operator.matmul, operator.lt, operator.ge, operator.iadd, operator.pow)
#: Operands on either side, of which NumPy's could compute with the memory of a tensor on the CPU.
OPERANDS = {
    "int": 1,
    "float": 1.5,
    "complex": 1j,
    "bool": True,
    "None": None,
    "text": "text",
    "object": object(),
    "tensor": tensor(),
    "host view": sx.host_view(tensor()),
    "array": np.ones((2, 2)),
    "0-d array": np.array(1),
    "array of objects": np.ones((2, 2), object),
    "NumPy float32": np.float32(1),
    "NumPy float64": np.float64(1),  # a float of Python's
    "torch": torch.ones(2, 2),
}


@pytest.mark.parametrize("name", OPERANDS)
def test_operators_refuse_every_operand(name):
    """A tensor computes nothing, so no program works on a CPU by chance and fails on a GPU."""
    other = OPERANDS[name]
    for x in both():
        for compute in OPERATORS:
            assert_refused(compute, x, other)
            if compute is not operator.iadd or name != "torch":
                assert_refused(compute, other, x)
        assert_refused(divmod, x, other)
        assert_refused(pow, x, other, 5)


def test_operators_refuse_arrays_that_compute():
    for x in both():
        for compute in OPERATORS:
            assert_refused(compute, x, Theirs())
        for compute in (operator.neg, operator.pos, operator.invert, abs, sum):
            assert_refused(compute, [x, x] if compute is sum else x)
        assert_refused(operator.add, [1], x)


def test_array_that_is_added_to_in_place_is_unchanged():
    array = np.ones((2, 2))
    with pytest.raises(TypeError, match=WAY):
        array += tensor()
    assert array.tolist() == [[1, 1], [1, 1]]


def test_functions_of_numpy_compute_on_the_host():
    """Unlike an operator they name the library that computes."""
    assert np.add(tensor(), np.ones((2, 2))).tolist() == [[1, 1], [1, 1]]
    assert np.array_equal(tensor(), np.zeros((2, 2)))


@needs("kernels")
def test_advice_of_an_operator_works():
    x = tensor()
    with pytest.raises(TypeError, match=WAY) as caught:
        operator.add(x, 1)
    calls = re.findall(r"(\S+) on the (?:device|host)", str(caught.value))
    assert len(calls) == 2
    for call in calls:
        computed = eval(call, {"x": x, "dpnp": pytest.importorskip("dpnp")}) + 1
        assert sx.exchange(computed, np).tolist() == [[1, 1], [1, 1]]


def test_equality():
    """Of the same object it is True; elements are not compared, as on a GPU."""
    for x in both():
        assert operator.eq(x, x) is True
        assert operator.ne(x, x) is False
        assert x in {x}
        assert x != None  # noqa: E711
        for other in ("text", object(), (2, 2), [[0, 0], [0, 0]]):
            assert x != other
        for name in OPERANDS.keys() - {"None", "text", "object"}:
            for compare in (operator.eq, operator.ne):
                assert_refused(compare, x, OPERANDS[name])
                if name != "torch":
                    assert_refused(compare, OPERANDS[name], x)


def test_methods():
    for x in both():
        for name in (*refusals.COMPUTING, *refusals.ELSEWHERE):
            assert not hasattr(x, name)
            assert not hasattr(type(x), name)
            assert name not in dir(x)
            words = rf"{type(x).__name__} has no {name}.* use .*x[.[]"
            with pytest.raises(AttributeError, match=words):
                getattr(x, name)
        with pytest.raises(AttributeError, match="no attribute 'bogus'"):
            x.bogus  # noqa: B018
        assert "to_numpy" in dir(x)


@pytest.mark.parametrize("name", ["ravel", "ctypes"])
def test_library_that_looks_for_an_attribute_is_named_as_one(name):
    """zarr and safetensors call these of whatever they are given."""
    for x in both():
        with pytest.raises(AttributeError, match=r"if a library needs it, pass x\.to_num"):
            getattr(x, name)
    with pytest.raises(AttributeError, match=r"has no numpy; use x\.to_numpy\(\)$"):
        tensor().numpy  # noqa: B018


def test_device_that_is_not_there_names_the_doctor():
    with pytest.raises(ValueError, match="the root devices are: .*sycl_ext doctor` explains why"):
        sx.zeros(3, device="fpga")


@pytest.mark.parametrize("name", refusals.ELSEWHERE)
def test_advice_for_a_missing_attribute_runs(name):
    known = {"x": tensor(), "sycl_ext": sx, "numpy": np, "value": 3, "device": 0}
    known |= {"shape": (4,), "dtype": "int8", "axes": (1, 0)}
    known |= {"number": 3, "array": np.ones((2, 2), "int32")}
    for code in refusals.ELSEWHERE[name].partition(";")[0].split(", or "):
        if name != "xpu":  # there is no GPU
            assert eval(code, known) is not None


@pytest.mark.parametrize("make", [sx.empty, sx.zeros])
def test_shape_of_several_arguments_is_a_type_error(make):
    with pytest.raises(TypeError, match=r"pass the shape as one tuple: \(2, 3\)"):
        make(2, 3)
    with pytest.raises(TypeError, match="pass the shape as one tuple"):
        make(2, 3, 4)


@pytest.mark.parametrize("value", ["float32", np.datetime64("2020-01-01")])
def test_value_that_is_no_number_is_named_before_its_dtype(value):
    for dtype in (None, "float32", 7):
        with pytest.raises(TypeError, match=r"must be a number, .*full\(shape, fill_value, dtype"):
            sx.full(3, value, dtype)


@pytest.mark.parametrize("name", ["reshape", "tolist", "fill"])
def test_method_of_the_class_can_be_sent_to_another_process(name):
    """As ``pool.map(sx.Tensor.tolist, tensors)`` does."""
    for x in both():
        method = getattr(type(x), name)
        assert pickle.loads(pickle.dumps(method)) is method


def test_dtypes_of_torch():
    for name in ("float32", "bool", "bfloat16", "complex64", "float8_e4m3fn", "uint16"):
        assert sx.zeros(2, getattr(torch, name)).dtype_name == name
    with pytest.raises(ValueError, match="dtype torch.qint8 is not supported; convert it"):
        sx.zeros(2, torch.qint8)


@pytest.mark.parametrize("values", [["text", "a longer text"], [1, 2.5], [2**70, True]])
def test_advice_for_objects_runs(values):
    array = np.array(values, object)
    with pytest.raises(BufferError, match=r"dtype object .* pass numpy\.") as caught:
        sx.from_dlpack(array)
    for_numbers, for_text = str(caught.value).partition("; pass ")[2].split(", ")
    names = {"x": array, "numpy": np}
    text = eval(for_text.removesuffix(" for their text"), names)
    assert sx.from_dlpack(text).dtype_name == "uint8"
    if not isinstance(values[0], str):
        numbers = eval(for_numbers.removesuffix(" if they are numbers"), names)
        assert sx.from_dlpack(numbers).dtype_name == "float64"


@pytest.mark.parametrize("take", [sx.from_dlpack, sx.as_tensor, sx.host_view])
def test_advice_for_array_likes_names_asarray(take):
    class Image:  # of pillow
        @property
        def __array_interface__(self):
            return np.zeros(3).__array_interface__

    for x in (Image(), [1, 2], 3):
        with pytest.raises(TypeError, match=r"convert it with numpy\.asarray"):
            take(x)
        assert take(np.asarray(x)) is not None


def test_buffer_without_dlpack_is_sent_to_as_tensor():
    with pytest.raises(TypeError, match="no __dlpack_device__; .* as_tensor also accepts buffers"):
        sx.from_dlpack(b"ab")
    assert sx.as_tensor(b"ab").shape == (2,)
