# SPDX-License-Identifier: Apache-2.0
"""PyTorch on the CPU takes a tensor of each kind of USM as host memory, and gives one back."""

import pytest

import environments
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


FIRST_EXCHANGE = """
import dpnp, torch, samples
import sycl_ext as sx

array = dpnp.arange(3)
exchange = sx.exchange  # which loads the core
frames = lambda **copy: samples.frames_of_ours(lambda: exchange(array, torch, **copy))
print(*(len(frames(copy=False)) for _ in range(2)), *(len(frames()) for _ in range(2)))
"""


def test_first_exchange_is_a_short_walk_and_the_next_runs_no_frame_of_ours():
    pytest.importorskip("dpnp")
    first, kept, other_copy, kept_too = map(int, environments.python(FIRST_EXCHANGE).split())
    assert first <= 120
    assert kept == kept_too == 0
    assert other_copy <= 35  # the library is known, the decision is another


def test_kept_exchange_runs_no_frame_of_ours_for_a_view(usm_type):
    tensor = sx.zeros(3, usm_type=usm_type)
    sx.exchange(tensor, torch)
    frames = samples.frames_of_ours(sx.exchange, tensor, torch)
    copies = sx.explain(tensor, torch).copies  # of the memory of a GPU, which Python makes
    assert len(frames) <= 15 * copies, frames
