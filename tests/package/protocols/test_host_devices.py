# SPDX-License-Identifier: Apache-2.0
"""Which DLPack devices are the host: (1, any id), and pinned or managed memory that it can read."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import sycl_ext as sx
from needs import needs
from producers import over

#: CPU, CUDA_HOST, ROCM_HOST and CUDA_MANAGED of DLPack, with ids that JAX and others use.
HOST_NAMES = [(1, 0), (1, 1), (1, 7), (3, 0), (11, 0), (13, 0), (13, 2)]

VERBS: dict[str, Callable[[Any], Any]] = {
    "from_dlpack": sx.from_dlpack,
    "from_dlpack(copy=False)": lambda x: sx.host_view(sx.from_dlpack(x, copy=False)),
    "from_dlpack(device=0)": lambda x: sx.from_dlpack(x, device=0),
    "as_tensor": sx.as_tensor,
    "host_view": sx.host_view,
    "copy_from": lambda x: sx.empty(3, "int32").copy_from(x),
    "exchange with NumPy": lambda x: sx.as_tensor(sx.exchange(x, np)),
}


class Announced:
    """A producer that announces one device, and whose capsules name another."""

    def __init__(self, announced: tuple[int, int], named: tuple[int, int], **fields: Any) -> None:
        self.array = np.arange(3, dtype="int32")
        self.announced, self.named, self.fields = announced, named, fields

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.announced

    def __dlpack__(self, *, max_version: Any = None, copy: Any = None) -> object:
        return over(self.array, device=self.named, **self.fields).capsule()


@needs("device_copies")
@needs("system_usm", "from_dlpack(copy=False)")
@pytest.mark.parametrize("verb", VERBS)
def test_host_device_types_are_the_host(verb: str) -> None:
    for announced, named in product(HOST_NAMES, HOST_NAMES):
        result = VERBS[verb](Announced(announced, named))
        assert np.asarray(sx.host_view(result)).tolist() == [0, 1, 2], (announced, named)


@pytest.mark.parametrize("named", HOST_NAMES)
def test_view_of_a_name_of_the_host_is_no_copy(named: tuple[int, int]) -> None:
    x = Announced(named, named)
    assert sx.host_view(x, copy=False).ptr == x.array.ctypes.data
    capsule = over(x.array, device=named).capsule()
    assert sx.host_view(capsule, copy=False).ptr == x.array.ctypes.data


@pytest.mark.parametrize("named", [(3, 0), (11, 0), (13, 0)])
def test_pinned_memory_that_the_host_cannot_read_is_refused(named: tuple[int, int]) -> None:
    x = Announced(named, named, data=16)
    with pytest.raises(BufferError, match="device"):
        sx.as_tensor(x)
    with pytest.raises(BufferError, match="the host cannot read"):
        sx.from_dlpack(over(x.array, device=named, data=16).capsule())


@pytest.mark.parametrize("named", [(2, 0), (10, 0), (14, 0)])
def test_name_of_a_device_is_not_the_host(named: tuple[int, int]) -> None:
    with pytest.raises(BufferError, match="announced"):
        sx.from_dlpack(Announced((1, 0), named))


def test_cpu_device_of_any_id_can_be_asked_for() -> None:
    tensor = sx.zeros(3, "int32", usm_type="shared")
    for device_id in (0, 1, 7):
        assert np.asarray(sx.exchange(tensor, (1, device_id), copy=False)).tolist() == [0, 0, 0]
        view = sx.from_dlpack(tensor.__dlpack__(dl_device=(1, device_id), max_version=(1, 0)))
        assert view.ptr == tensor.ptr
        with pytest.raises(BufferError, match="requires stream=None"):
            tensor.__dlpack__(dl_device=(1, device_id), stream=-1)
    with pytest.raises(BufferError, match="no such device"):
        tensor.__dlpack__(dl_device=(3, 0))


def test_empty_array_of_pinned_memory() -> None:
    x = Announced((3, 0), (3, 0), data=0, shape=(0,), strides=None)
    assert sx.as_tensor(x).shape == (0,)


def test_pinned_array_of_torch_is_a_view() -> None:
    """torch announces (3, 0) for pinned memory, and its capsules name (1, 0)."""
    torch = pytest.importorskip("torch")

    class Pinned(torch.Tensor):
        def __dlpack_device__(self) -> tuple[int, int]:
            return (3, 0)

    x = torch.arange(3, dtype=torch.int32).as_subclass(Pinned)
    assert sx.host_view(x, copy=False).ptr == x.data_ptr()
