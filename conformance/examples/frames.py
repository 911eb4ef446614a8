# SPDX-License-Identifier: Apache-2.0
"""A library of one class that hands its memory out by DLPack, in 60 lines of ctypes.

pip install dlpack-conformance
pytest --pyargs dlpack_conformance --dlpack=frames:adapter --dlpack-report=frames.md
"""

import array
import ctypes
from math import prod
from typing import Any

from dlpack_conformance import Adapter


class Managed(ctypes.Structure):
    """``DLManagedTensor`` of dlpack.h, with the ``DLTensor`` that it begins with."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int32 * 2),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


Function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
alive: dict[int, tuple] = {}  # address of a struct -> all that it points to


@Function
def release(address: int) -> None:
    """Be the deleter: release the memory of the struct."""
    alive.pop(address, None)


class Frame:
    """Numbers of 32 bits, in rows."""

    def __init__(self, numbers: list[float], shape: tuple[int, ...]) -> None:
        self.numbers, self.shape = array.array("f", numbers), shape

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the host."""
        return (1, 0)

    def __dlpack__(self, *, stream: object = None, max_version: object = None) -> object:
        """Return a capsule of the struct of DLPack 0.x."""
        steps = [prod(self.shape[axis + 1 :]) for axis in range(len(self.shape))]
        lengths = (ctypes.c_int64 * len(self.shape))(*self.shape)
        strides = (ctypes.c_int64 * len(self.shape))(*steps)
        start, _ = self.numbers.buffer_info()
        struct = Managed(start, (1, 0), len(self.shape), 2, 32, 1, lengths, strides)
        struct.deleter = ctypes.cast(release, ctypes.c_void_p).value
        alive[ctypes.addressof(struct)] = (struct, lengths, strides, self.numbers)
        return new_capsule(ctypes.addressof(struct), b"dltensor", None)


def make(values: Any) -> Frame:
    """Make a frame of a NumPy array."""
    if values.dtype != "float32":
        raise TypeError(f"a frame has float32, not {values.dtype}")
    return Frame(values.ravel().tolist(), values.shape)


adapter = Adapter("frames", make, index=None)
