# SPDX-License-Identifier: Apache-2.0
"""CUDA and ROCm devices, which have DLPack device types of their own."""

import functools
import itertools

from sycl_ext import _core
from sycl_ext._devices.device import by_id
from sycl_ext._devices.placement import resolve
from sycl_ext._negotiation.dlpack import DeviceType, DLDevice


@functools.lru_cache(maxsize=256)
def is_native(entry_id: int) -> bool:
    """Whether a device has memory for which DLPack has names of CUDA or ROCm."""
    return by_id(entry_id).backend in ("cuda", "hip")


def native_device(entry_id: int, usm_type: str) -> DLDevice | None:
    """Return CUDA's or ROCm's name of a kind of USM of a root device, or None: it has none."""
    for device_type, ordinal in itertools.product(DeviceType, range(_core.root_count())):
        device = (int(device_type), ordinal)
        named = resolve(device)
        if named.entry is not None and (named.entry.id, named.kind) == (entry_id, usm_type):
            return device
    return None
