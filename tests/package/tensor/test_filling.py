# SPDX-License-Identifier: Apache-2.0
"""One number for all elements: `Tensor.fill`, ``copy_from(number)``, `full`, `ones`, `copy`."""

import ml_dtypes
import numpy as np
import pytest

import sycl_ext as sx
from needs import needs
from sycl_ext import _core

KINDS = ("device", "shared", "host")
NUMBERS = {"b": True, "i": 3, "u": 3, "f": 1.5, "c": 1 - 2j, "V": 1.5}
FLOATS = ("bfloat16", "float8_e4m3fn", "float8_e5m2")


@pytest.mark.parametrize("dtype", [name for name, *_ in _core.DTYPES])
def test_full_has_the_value_in_each_dtype(dtype):
    kind = next(kind for name, kind, *_ in _core.DTYPES if name == dtype)
    value = NUMBERS[kind]
    tensor = sx.full((2, 3), value, dtype)
    expected = np.full((2, 3), value, tensor.dtype)
    assert tensor.dtype_name == dtype
    assert tensor.to_numpy().tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (True, "bool"),
        (1, "int64"),
        (1.0, "float32"),
        (1j, "complex64"),
        (np.int16(1), "int16"),
        (np.bool_(True), "bool"),
        (np.float64(1), "float64"),
        (ml_dtypes.bfloat16(1), "bfloat16"),
    ],
)
def test_dtype_of_full_follows_the_value(value, dtype):
    tensor = sx.full(2, value)
    assert tensor.dtype_name == dtype
    assert tensor.tolist() == [value, value]


@pytest.mark.parametrize("usm_type", KINDS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_new_tensors_take_the_arguments_of_empty(usm_type, order):
    sub_device = sx.device(0).create_sub_devices(1)[0]
    for make in (
        lambda **to: sx.full((2, 3), 1, "int8", **to),
        lambda **to: sx.ones((2, 3), "int8", **to),
    ):
        tensor = make(usm_type=usm_type, order=order, device=sub_device)
        assert (tensor.usm_type, tensor.device) == (usm_type, sub_device)
        assert tensor.f_contiguous == (order == "F")
        assert tensor.tolist() == [[1, 1, 1]] * 2


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "complex64", *FLOATS])
def test_ones_of_any_dtype_are_ones(dtype):
    assert sx.ones(3, dtype).tolist() == [1, 1, 1]


def test_fill_leaves_what_lies_between_the_elements():
    tensor = sx.zeros((4, 4), "int32")
    assert tensor[::2, 1:3].fill(7).tolist() == [[7, 7], [7, 7]]
    assert tensor.tolist() == [[0, 7, 7, 0], [0] * 4] * 2


@pytest.mark.parametrize("shape", [(), (0,), (3, 0)])
def test_fill_takes_any_number_of_elements(shape):
    expected = np.full(shape, 2, "int8").tolist()
    assert sx.empty(shape, "int8").fill(2).tolist() == expected


def test_fill_of_a_host_view_writes_to_the_memory():
    array = np.zeros(3, "f4")
    assert sx.host_view(array).fill(2).tolist() == [2, 2, 2]
    assert array.tolist() == [2, 2, 2]


@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("value", [5, np.int64(5), np.uint8(5), True])
def test_copy_from_takes_a_number(value, wait):
    tensor = sx.zeros((2, 2), "int32")
    copy = tensor[0].copy_from(value, wait=wait)
    assert (copy if wait else copy.result()).tolist() == [value, value]
    assert tensor.tolist() == [[value, value], [0, 0]]


WRONG = [
    (1.5, "int32", TypeError, "of type int"),
    (1j, "float32", TypeError, "of type float"),
    (2, "bool", TypeError, "of type bool"),
    (np.float32(1.5), "int8", TypeError, "of type int"),
    (300, "uint8", ValueError, "0 to 255"),
    (-1, "uint64", ValueError, "0 to 18446744073709551615"),
    (10**400, "float32", ValueError, "1329 bits"),
    (70000, "float16", ValueError, "out of bounds for float16, which would store inf"),
    (-1e39, "float32", ValueError, "out of bounds for float32, which would store -inf"),
    (np.float64(1e39), "bfloat16", ValueError, "out of bounds for bfloat16"),
    (1 + 1e39j, "complex64", ValueError, "out of bounds for complex64"),
    (1e39, "complex64", ValueError, "out of bounds for complex64"),
    (465, "float8_e4m3fn", ValueError, "out of bounds for float8_e4m3fn, which would store nan"),
    (float("inf"), "float8_e4m3fn", ValueError, "out of bounds for float8_e4m3fn"),
]


@pytest.mark.parametrize("value", [float("inf"), -float("inf"), float("nan")])
@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16", "float8_e5m2", "complex64"])
def test_numbers_that_are_not_finite_are_written(value, dtype):
    (number,) = sx.zeros(1, dtype).fill(value).tolist()
    assert str(number.real) == str(value)


NOT_A_NUMBER = ["1", None, [1], np.zeros(2), np.timedelta64(1, "s"), np.datetime64("2020"), b"1"]


@pytest.mark.parametrize(("value", "dtype", "error", "words"), WRONG)
def test_number_that_the_dtype_does_not_hold_is_refused(value, dtype, error, words):
    tensor = sx.zeros(2, dtype)
    for write in (tensor.fill, tensor.copy_from, lambda v: sx.full(2, v, dtype)):
        with pytest.raises(error, match=words):
            write(value)
    assert tensor.tolist() == [0, 0]


@pytest.mark.parametrize("value", NOT_A_NUMBER, ids=repr)
def test_value_that_is_no_number_is_refused(value):
    for write in (sx.zeros(2).fill, lambda v: sx.full(2, v, "float32")):
        with pytest.raises(TypeError, match="must be a number"):
            write(value)


def test_read_only_tensor_is_not_filled():
    tensor = sx.zeros(2).as_readonly()
    for write in (tensor.fill, tensor.copy_from):
        with pytest.raises(BufferError, match="read-only"):
            write(1)
    assert tensor.tolist() == [0, 0]


@needs("system_usm")
def test_elements_that_share_memory_are_not_filled():
    shared = sx.as_tensor(np.broadcast_to(np.zeros(1), 3))
    with pytest.raises(BufferError):
        shared.fill(1)


@pytest.mark.parametrize("to", KINDS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_copy_has_the_kind_that_is_asked_for(kind, to, order):
    original = sx.full((2, 3), 4, "int16", usm_type=kind)
    copied = original.copy(order, to)
    assert (copied.usm_type, copied.device) == (to, original.device)
    assert copied.f_contiguous == (order == "F")
    assert copied.tolist() == original.tolist()
    assert copied.ptr != original.ptr


@pytest.mark.parametrize("wrong", ["system", "managed", ""])
def test_copy_names_the_kinds_that_exist(wrong):
    with pytest.raises(ValueError, match="'device', 'shared' or 'host'"):
        sx.zeros(2).copy(usm_type=wrong)
    with pytest.raises(TypeError, match="'device', 'shared' or 'host'"):
        sx.zeros(2).copy(usm_type=1)
