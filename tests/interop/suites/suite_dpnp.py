# SPDX-License-Identifier: Apache-2.0
"""dpnp's tests of DLPack: its arrays, with our exports, and a `from_dlpack` that is ours."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np
from dpnp.tensor import Device

import suite_numpy
import sycl_ext as sx

from_ours = dpnp.from_dlpack
HOST = (1, 0)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """As dpnp's function: host memory stays there unless a device is named."""
    if device == HOST or (device is None and x.__dlpack_device__()[0] == HOST[0]):
        return np.asarray(sx.host_view(x, copy=copy))
    if isinstance(device, Device):
        device = device.sycl_queue
    return from_ours(sx.from_dlpack(x, device=device, copy=copy))


def tensor_of(array: Any) -> Any:
    """Return the memory of dpnp's array, whose own DLPack methods are replaced below."""
    return sx.as_tensor(array.get_array())


def pytest_configure() -> None:
    dpnp.ndarray.__dlpack_device__ = lambda self: tensor_of(self).__dlpack_device__()
    dpnp.ndarray.__dlpack__ = lambda self, **keywords: tensor_of(self).__dlpack__(**keywords)
    dpnp.from_dlpack = from_dlpack
    np.from_dlpack = suite_numpy.from_dlpack
