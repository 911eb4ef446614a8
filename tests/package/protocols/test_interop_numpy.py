# SPDX-License-Identifier: Apache-2.0
"""NumPy takes a tensor of each kind of USM, and gives one back."""

import numpy as np
import pytest

import sycl_ext as sx
from needs import needs
from samples import LAYOUTS, bits
from ways import WAYS


@needs("device_copies")
@pytest.mark.parametrize(
    "way", ["HostView, np.from_dlpack", "Tensor.__dlpack__, np.from_dlpack", "exchange(numpy)"]
)
def test_negative_strides_arrive_as_a_copy(way, usm_type):
    for name in ("reversed", "4-D permuted"):
        tensor, array = LAYOUTS[name].tensor("float32", usm_type)
        taken = WAYS[way].call(tensor)
        assert bits(taken) == bits(array)
        assert min(taken.strides) > 0
    tensor, _ = LAYOUTS["reversed"].tensor("float32", "shared")
    with pytest.raises(BufferError, match="negative stride"):
        np.from_dlpack(tensor, device="cpu", copy=False)


def test_numpy_refuses_usm_and_bfloat16(usm_type):
    """Without a word about the host it refuses; bfloat16 it does not know."""
    with pytest.raises((RuntimeError, BufferError), match="Unsupported device"):
        np.from_dlpack(sx.zeros(3, usm_type=usm_type))
    with pytest.raises((RuntimeError, BufferError), match="dtype"):
        np.from_dlpack(sx.host_view(sx.zeros(3, "bfloat16", usm_type=usm_type)))


@pytest.mark.parametrize("dtype", [">i8", "M8[D]", "longdouble", "V4", "U1", "O"])
def test_dtype_that_is_not_exchanged_is_a_buffer_error(dtype):
    """A producer that cannot export, as NumPy itself says; a dtype= is a ValueError."""
    x = np.zeros(3, dtype)
    for take in (
        *(sx.from_dlpack, sx.as_tensor, sx.host_view, sx.empty(3).copy_from),
        *(lambda x: sx.exchange(x, np), lambda x: sx.from_dlpack(x, device=[0])),
    ):
        with pytest.raises(BufferError, match="byte order|is not supported") as caught:
            take(x)
        assert type(caught.value) is BufferError
    assert sx.explain(x, np).error is BufferError


@needs("device_copies")
def test_stride_of_a_length_of_1_is_ignored():
    """Also one that is not a multiple of the itemsize, as NumPy's own tests have it."""
    x = np.ndarray((10, 5, 1), "f8", np.ones(1000, "u1"), 0, (8, 80, 4))
    for take in (sx.as_tensor, sx.from_dlpack, sx.host_view):
        taken = take(x)
        assert taken.shape == x.shape
        np.testing.assert_array_equal(np.asarray(sx.host_view(taken)), x)
