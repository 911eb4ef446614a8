# SPDX-License-Identifier: Apache-2.0
"""Conversions of a `Tensor`: an array, a buffer, a number, a list, a text."""

import operator
import re

import numpy as np
import pytest

import buffers
import samples
import sycl_ext as sx
from samples import numbered

# ---- NumPy ---------------------------------------------------------------------------------------


def test_array(usm_type):
    tensor, array = numbered((2, 3), usm_type=usm_type)
    if not tensor.device.host_accessible(usm_type):
        with pytest.raises(TypeError, match=r"\.to_numpy\(\) or sycl_ext.host_view\(x\)"):
            np.asarray(tensor)
        return
    for x in (tensor, sx.host_view(tensor)):
        view = np.asarray(x)
        assert np.shares_memory(view, tensor.to_numpy())
        np.testing.assert_array_equal(view, array)
        assert np.asarray(x, dtype="float64").dtype == "float64"
        assert not np.shares_memory(np.array(x), view)
        np.testing.assert_allclose(x, array)
        with pytest.raises(ValueError, match="copy"):
            np.asarray(x, dtype="float64", copy=False)
        with pytest.raises(sx.CopyRefusedError, match="copy=False, but converting"):
            x.__array__("float64", copy=False)
        assert x.__array__("float64", copy=None).dtype == "float64"
        assert np.shares_memory(x.__array__(copy=False), view)
        assert not np.shares_memory(x.__array__(copy=True), view)
        assert not np.shares_memory(x.__array__("float64", copy=True), view)
        assert (x.ndim, x.size, x.itemsize, x.nbytes) == (2, 6, 4, 24)


# ---- buffers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype", [name for name in samples.DTYPE_NAMES if name not in samples.NUMPY_DTYPES]
)
def test_dtypes_without_a_buffer_format(dtype):
    with pytest.raises(BufferError, match=rf"{dtype}.*DLPack"):
        memoryview(sx.zeros(3, dtype, usm_type="shared"))


def test_bfloat16_as_plain_bytes():
    """A consumer that asks for no format gets the bytes."""
    tensor = sx.zeros(3, "bfloat16", usm_type="shared")
    result = buffers.ask(tensor, buffers.SIMPLE)
    assert (result["buf"], result["len"], result["itemsize"]) == (tensor.ptr, 6, 2)


# ---- numbers -------------------------------------------------------------------------------------

NUMBERS = [bool, int, float, complex, operator.index, lambda x: x.item()]


def number_or_error(call, x):
    try:
        return call(x)
    except (TypeError, ValueError, OverflowError, DeprecationWarning) as error:
        return type(error)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
@pytest.mark.parametrize("call", NUMBERS)
def test_tensor_of_one_element_is_a_number(call, shape, usm_type):
    """As NumPy says.  The byte 53 is the digit 5 in text."""
    for dtype in samples.DTYPE_NAMES:
        for value in (53, 0, 1):
            array = np.full(shape, value).astype(samples.numpy_dtype(dtype))
            tensor = sx.empty(shape, dtype, usm_type=usm_type).copy_from(array)
            wanted = number_or_error(call, array)
            for x in (tensor, tensor.as_readonly(), sx.host_view(tensor)):
                assert repr(number_or_error(call, x)) == repr(wanted)  # also NaN


def test_refused_conversion_names_item(usm_type):
    for call in (int, float, complex):
        if number_or_error(call, np.zeros(1)) is TypeError:  # older NumPy converts it
            for x in (tensor := sx.zeros(1, usm_type=usm_type), sx.host_view(tensor)):
                with pytest.raises(TypeError, match=rf"{call.__name__}\(x\): .*write x.item\(\)"):
                    call(x)


@pytest.mark.parametrize("spec", [".2f", ">20", "08.3e", "+", "d", "x", "what?"])
def test_formats_are_those_of_the_number(spec, usm_type):
    for dtype in samples.DTYPE_NAMES:
        tensor = sx.zeros((), dtype, usm_type=usm_type)
        for x in (tensor, sx.host_view(tensor)):
            wanted = number_or_error(lambda x: format(x, spec), tensor.item())
            assert number_or_error(lambda x: format(x, spec), x) == wanted


def test_tensors_are_formatted_as_text():
    """An empty format is `str`, of all of them."""
    for tensor in (sx.zeros(()), sx.zeros(1), sx.zeros((2, 3))):
        for x in (tensor, sx.host_view(tensor)):
            assert f"{x}" == str(x)
            if x.ndim:
                assert f"{x:>200}" == str(x).rjust(200)
                with pytest.raises(TypeError, match=rf"{type(x).__name__} of .*x.tolist\(\)"):
                    format(x, ".2f")


def test_item_is_a_number_of_python():
    for dtype in samples.DTYPE_NAMES:
        assert type(sx.zeros((), dtype).item()) in (bool, int, float, complex)
        assert type(sx.zeros(1, dtype).tolist()[0]) in (bool, int, float, complex)


def test_lists(usm_type):
    for shape in ((), (0,), (3,), (2, 0), (2, 3)):
        tensor, array = numbered(shape, usm_type=usm_type)
        for x in (tensor, tensor.as_readonly(), sx.host_view(tensor)):
            assert x.tolist() == array.tolist()
    assert tensor.T.tolist() == array.T.tolist()
    assert tensor[::-1, ::2].tolist() == array[::-1, ::2].tolist()


def test_lists_of_narrow_floats_have_their_values():
    for dtype in samples.DTYPE_NAMES:
        array = np.array([0, 1, 2]).astype(samples.numpy_dtype(dtype))
        wanted = array if array.dtype.kind in "biufc" else array.astype("float32")
        assert repr(sx.as_tensor(array).tolist()) == repr(wanted.tolist())  # also NaN


@pytest.mark.parametrize("shape", [(0,), (2,), (0, 3), (1, 2)])
def test_tensor_of_several_elements_or_none_is_no_number(shape, usm_type):
    tensor = sx.zeros(shape, "uint8", usm_type=usm_type)
    for x in (tensor, sx.host_view(tensor)):
        for call in (int, float, complex):
            with pytest.raises(TypeError, match=f"one element, but this one has {tensor.size}"):
                call(x)
        with pytest.raises(TypeError, match=re.escape(str(shape))):
            operator.index(x)
        for call in (bool, lambda x: x.item()):
            with pytest.raises(ValueError, match=f"{tensor.size}"):
                call(x)


def test_index_is_an_integer_of_no_dimensions():
    assert [10, 20, 30][sx.zeros((), "uint8")] == 10
    for tensor in (sx.zeros(1, "uint8"), sx.zeros((), "float32"), sx.zeros((), "bool")):
        with pytest.raises(TypeError, match="only"):
            operator.index(tensor)
