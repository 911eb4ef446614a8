# SPDX-License-Identifier: Apache-2.0
"""DLPack device types, and the protocols of producers. Pure Python."""

import operator
from enum import Enum, IntEnum
from typing import Any, Protocol, TypeAlias, runtime_checkable

#: A DLPack device: (device type, device id).
DLDevice: TypeAlias = tuple[int, int]


class DeviceType(IntEnum):
    """The DLPack device types that this package exchanges.

    Those of CUDA and ROCm name memory of SYCL devices of these backends, for libraries without
    SYCL.
    """

    __module__ = "sycl_ext.dlpack"

    CPU = 1
    CUDA = 2
    CUDA_HOST = 3
    ROCM = 10
    ROCM_HOST = 11
    CUDA_MANAGED = 13
    ONE_API = 14


#: The DLPack device of plain host memory.  It is not the SYCL "cpu" device.
HOST: DLDevice = (int(DeviceType.CPU), 0)


def as_dl_device(pair: Any, name: str = "device") -> DLDevice:
    """Return a DLPack device as plain ints; `name` is used in error messages.

    The array API has an `enum.Enum` as its first element, which need not be an int itself.

    Examples
    --------
    >>> as_dl_device((Enum("DLDeviceType", {"kDLCPU": 1}).kDLCPU, 0))
    (1, 0)
    """
    try:
        device_type, device_id = pair
        if isinstance(device_type, Enum):
            device_type = device_type.value
        if bool in (type(device_type), type(device_id)):
            raise TypeError("a bool is not a number")
        return (operator.index(device_type), operator.index(device_id))
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name} is {pair!r}; a DLPack device is a pair of ints such as (14, 0)"
        ) from error


@runtime_checkable
class SupportsDLPack(Protocol):
    """A producer of DLPack capsules."""

    def __dlpack__(self, *, stream: Any = None) -> Any:
        """Return a capsule."""

    def __dlpack_device__(self) -> DLDevice:
        """Return the device of the data."""


# Not in the class: type checkers would take it for a member of the protocol.
SupportsDLPack.__module__ = "sycl_ext.dlpack"
