# SPDX-License-Identifier: Apache-2.0
"""PyTorch on the CPU takes a tensor of each kind of USM as host memory, and gives one back."""

import numpy as np
import pytest

import samples
import sycl_ext as sx
from samples import LAYOUTS, bits

torch = pytest.importorskip("torch")

#: The dtypes of torch, by the names of this package.
DTYPES = [name for name in samples.DTYPE_NAMES if hasattr(torch, name)]


def raw(tensor):
    """The elements of a torch tensor, bit by bit; also of dtypes that NumPy does not know."""
    width = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64, 16: torch.complex128}
    flat = tensor.contiguous().reshape(-1)
    return flat.view(width[tensor.element_size()]).numpy().tobytes()


REVERSED = ("reversed", "4-D permuted")


def test_every_dtype_of_torch_is_tried():
    assert {"bool", "float32", "complex128", "bfloat16", "float8_e4m3fn", "uint64"} <= set(DTYPES)


@pytest.mark.parametrize("name", LAYOUTS)
def test_back(name):
    for dtype in DTYPES:
        base, array = LAYOUTS[name].arrays(dtype)
        if name in REVERSED or dtype not in samples.NUMPY_DTYPES:
            array = np.ascontiguousarray(array).reshape(array.shape)
            theirs = torch.from_dlpack(sx.host_view(array))
        else:
            theirs = torch.from_numpy(base)
            view = samples.strided_form(base, array)
            theirs = torch.as_strided(theirs, view[0], view[1], view[2])
        for way in (sx.from_dlpack, sx.as_tensor, sx.host_view):
            tensor = way(theirs)
            assert (tensor.dtype, tensor.shape) == (array.dtype, array.shape)
            assert bits(np.asarray(tensor) if way is sx.host_view else tensor.to_numpy()) == bits(
                array
            )
            if array.size:
                assert tensor.ptr == theirs.data_ptr()


def test_without_a_host_view_torch_refuses(usm_type):
    with pytest.raises(RuntimeError, match="XPU"):
        torch.from_dlpack(sx.zeros(3, usm_type=usm_type))


def test_an_exchange_runs_little_python_of_ours(usm_type):
    """It is a decision, and two calls of the core: a torch function takes less than the frames."""
    tensor = sx.zeros(3, usm_type=usm_type)
    sx.exchange(tensor, torch)
    frames = samples.frames_of_ours(sx.exchange, tensor, torch)
    assert len(frames) <= 15, frames
