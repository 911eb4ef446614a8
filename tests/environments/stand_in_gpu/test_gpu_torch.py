# SPDX-License-Identifier: Apache-2.0
"""torch with XPU as a consumer: a module that refuses what torch refuses, as no torch with XPU runs
here.
"""

import sys
import types

import dpctl
import numpy as np
import pytest

import sycl_ext as sx
from needs import needs
from samples import assert_equal, values
from sycl_ext import _core


class Xpu(types.ModuleType):
    """Takes 'device' USM of root devices, in their default context, and asks without a stream."""

    def __init__(self):
        super().__init__("torch")
        self.xpu = types.SimpleNamespace(is_available=lambda: True)
        self.seen = []

    def from_dlpack(self, x):
        is_pending = not _core.pending_commands(x).done()
        self.seen.append((x.__dlpack_device__()[0], is_pending))
        if any(stride < 0 for stride in x.strides):
            raise RuntimeError("torch would end the process")
        if x.__dlpack_device__()[0] != 14:
            return sx.from_dlpack(x)
        capsule = x.__dlpack__(max_version=(1, 0), stream=-1)
        result = sx.from_dlpack(capsule)
        if result.usm_type != "device" or result.device.kind != "root":
            raise RuntimeError("Pointer argument is not of a root device")
        return result


@pytest.fixture
def torch(monkeypatch):
    module = Xpu()
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


def on(device, usm_type="device"):
    return sx.empty((4, 6), "int32", usm_type=usm_type, device=device).copy_from(
        values((4, 6), "int32")
    )


@pytest.mark.parametrize("copy", [None, True])
def test_memory_of_a_tile_goes_to_its_root(tiles, gpu, torch, copy):
    """Under the root's id torch would refuse it, and a host copy would be the way out."""
    tensor = on(tiles[1])
    if tensor.device._entry.default_context is False:
        pytest.fail("tiles are bound to the default context on Level Zero")
    result = sx.exchange(tensor, torch, copy=copy)
    assert (result.device, result.usm_type) == (gpu, "device")
    assert result.ptr != tensor.ptr
    assert_equal(result, values((4, 6), "int32"))
    assert [kind for kind, _ in torch.seen] == [14]
    plan = sx.explain(tensor, torch, copy=copy)
    assert plan.copies == 1
    assert str(plan).startswith("one copy on the device")
    assert "only memory of root devices" in str(plan) or copy


def test_tile_is_refused_without_a_copy(tiles, torch):
    with pytest.raises(sx.CopyRefusedError, match="requires a copy.*only memory of root devices"):
        sx.exchange(on(tiles[0]), torch, copy=False)
    with pytest.raises(BufferError, match="torch accepts only memory of root devices"):
        sx.exchange(on(tiles[0]), torch, device=tiles[0])
    assert torch.seen == []


@needs("copies_between_contexts")
def test_private_context_is_copied_to_the_default(gpu, torch):
    private = sx.register_context(dpctl.SyclContext([gpu.sycl_device]))
    result = sx.exchange(on(private), torch)
    assert result.device is gpu
    assert_equal(result, values((4, 6), "int32"))


@pytest.mark.parametrize("on_tile", [False, True])
def test_pending_work_is_done_before_torch_is_asked(gpu, tiles, torch, adapter, on_tile):
    """It does not say on which queue it will use the memory."""
    tensor = sx.zeros(4096, "uint8", device=tiles[0] if on_tile else gpu)
    ones = dpctl.memory.MemoryUSMHost(4096, queue=tensor.sycl_queue)
    memoryview(ones)[:] = b"\1" * 4096
    adapter.fakegpu_set_delay_us(50_000)
    tensor.sycl_queue.memcpy_async(dpctl.memory.as_usm_memory(tensor), ones, 4096)
    result = sx.exchange(tensor, torch)
    assert torch.seen == [(14, False)]
    assert (result.to_numpy() == np.uint8(1)).all()


def test_negative_stride_is_copied_on_the_device(gpu, tiles, torch):
    for device in (gpu, tiles[0]):
        del torch.seen[:]
        tensor = on(device)[::-1]
        plan = sx.explain(tensor, torch)
        assert (plan.route.value, plan.copies) == (sx.Route.COPY.value, 1)
        result = sx.exchange(tensor, torch)
        assert result.device is gpu
        assert_equal(result, values((4, 6), "int32")[::-1])
        assert [kind for kind, _ in torch.seen] == [14]
        with pytest.raises(
            sx.CopyRefusedError, match="negative strides|only memory of root devices"
        ):
            sx.exchange(tensor, torch, copy=False)


def test_positive_strides_are_a_view(gpu, torch):
    tensor = on(gpu)[::2, 1::3].T
    result = sx.exchange(tensor, torch, copy=False)
    assert (result.ptr, result.strides) == (tensor.ptr, tensor.strides)
