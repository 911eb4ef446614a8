# SPDX-License-Identifier: Apache-2.0
"""PyTorch on the CPU takes a tensor of each kind of USM as host memory, and gives one back."""

import pytest

import samples
import sycl_ext as sx

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn"])
@pytest.mark.parametrize("way", [sx.from_dlpack, sx.as_tensor, sx.host_view])
def test_dtypes_that_numpy_does_not_know(way, dtype):
    theirs = torch.arange(6).reshape(2, 3).to(getattr(torch, dtype))
    result = way(theirs) if way is sx.host_view else way(theirs, device="cpu")
    assert (result.dtype.name, result.ptr, result.shape) == (dtype, theirs.data_ptr(), (2, 3))
    assert result.tolist() == theirs.float().tolist()


def test_without_a_host_view_torch_refuses(usm_type):
    with pytest.raises(RuntimeError, match="XPU"):
        torch.from_dlpack(sx.zeros(3, usm_type=usm_type))


def test_exchange_with_torch_runs_few_frames_of_ours(usm_type):
    """It is a decision, and two calls of the core: a torch function takes less than the frames."""
    tensor = sx.zeros(3, usm_type=usm_type)
    sx.exchange(tensor, torch)
    frames = samples.frames_of_ours(sx.exchange, tensor, torch)
    assert len(frames) <= 15, frames
