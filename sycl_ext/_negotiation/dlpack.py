# SPDX-License-Identifier: Apache-2.0
"""DLPack device types, and the protocols that producers speak.  Pure Python."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Protocol, TypeAlias, runtime_checkable

__all__ = [
    "HOST",
    "DLDevice",
    "DeviceType",
    "SupportsDLPack",
    "SupportsUsmInterface",
]

#: A DLPack device: (device type, device id).
DLDevice: TypeAlias = tuple[int, int]


class DeviceType(IntEnum):
    """The DLPack device types that this package exchanges.

    Those of CUDA and ROCm name memory of SYCL devices of these backends, for libraries without
    SYCL.  (They were tested on a stand-in, and on no such hardware.)
    """

    CPU = 1
    CUDA = 2
    CUDA_HOST = 3
    ROCM = 10
    ROCM_HOST = 11
    CUDA_MANAGED = 13
    ONE_API = 14


#: The DLPack device of plain host memory.  It is not the SYCL "cpu" device.
HOST: DLDevice = (int(DeviceType.CPU), 0)


@runtime_checkable
class SupportsDLPack(Protocol):
    """A producer of DLPack capsules."""

    def __dlpack__(self, *, stream: Any = None) -> Any:
        """Return a capsule."""

    def __dlpack_device__(self) -> DLDevice:
        """Return where the data is."""


@runtime_checkable
class SupportsUsmInterface(Protocol):
    """An object that describes its USM in the ``__sycl_usm_array_interface__`` protocol."""

    @property
    def __sycl_usm_array_interface__(self) -> dict[str, Any]:
        """Return the description."""
