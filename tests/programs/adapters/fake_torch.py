# SPDX-License-Identifier: Apache-2.0
"""What the adapters use of PyTorch: a tensor of XPU, ``from_dlpack``, and the registry of
pytorch#194568 as its issue (pytorch#195964) describes it.
"""

from collections import namedtuple
from multiprocessing.reduction import ForkingPickler
from types import SimpleNamespace

import sycl_ext as sx

Device = namedtuple("Device", "type")


class Tensor:
    """USM with the names of PyTorch; others get it through DLPack alone."""

    device = Device("xpu")

    def __init__(self, usm, requires_grad=False):
        self.usm, self.requires_grad = usm, requires_grad

    def detach(self):
        return Tensor(self.usm)

    @property
    def dtype(self):
        import torch

        return getattr(torch, str(self.usm.dtype))

    def as_strided(self, size, stride, storage_offset):
        """Of a permuted tensor without gaps."""
        assert storage_offset == 0
        slow_first = sorted(range(len(size)), key=lambda axis: -stride[axis])
        dense = self.usm.reshape([size[axis] for axis in slow_first])
        view = dense.transpose(*(slow_first.index(axis) for axis in range(len(size))))
        assert view.strides == tuple(stride)
        return Tensor(view)

    def __dlpack_device__(self):
        return self.usm.__dlpack_device__()

    def __dlpack__(self, **how):
        if self.requires_grad:
            raise BufferError("a tensor that requires a gradient is detached first")
        return self.usm.__dlpack__(**how)

    def untyped_storage(self):
        return Storage()


class Storage:
    device = Device("xpu")


class Parameter(Tensor):
    def __init__(self, tensor, requires_grad=True):
        super().__init__(tensor.usm, requires_grad)


nn = SimpleNamespace(Parameter=Parameter)


def from_dlpack(x):
    return Tensor(sx.from_dlpack(x))


# ---- torch.multiprocessing.reductions ------------------------------------------------------------

reducers, checks = {}, {}


def register_ipc_tensor_reducer(device_type, reduce_fn, rebuild_fn):
    reducers[device_type] = (reduce_fn, rebuild_fn)


def register_ipc_storage_check(device_type, check_fn):
    checks[device_type] = check_fn


def reduce_tensor(tensor):
    reduce_fn, _ = reducers[tensor.device.type]
    return reduce_fn(tensor)


def reduce_storage(storage):
    for device_type, check in checks.items():
        if check(storage):
            raise RuntimeError(f"Cannot pickle {device_type} storage; try pickling a tensor")
    raise AssertionError("there is only storage of XPU here")


for kind in (Tensor, Parameter):
    ForkingPickler.register(kind, reduce_tensor)
ForkingPickler.register(Storage, reduce_storage)
