# SPDX-License-Identifier: Apache-2.0
"""Buffer requests with any flags, which Python's `memoryview` cannot make: through ctypes."""

from __future__ import annotations

import ctypes
from ctypes import c_char_p, c_int, c_ssize_t, c_void_p, py_object, pythonapi

SIMPLE = 0
WRITABLE = 0x1
FORMAT = 0x4
ND = 0x8
STRIDES = 0x10 | ND
C_CONTIGUOUS = 0x20 | STRIDES
F_CONTIGUOUS = 0x40 | STRIDES
ANY_CONTIGUOUS = 0x80 | STRIDES
INDIRECT = 0x100 | STRIDES
FULL = INDIRECT | WRITABLE | FORMAT


class Buffer(ctypes.Structure):
    """``Py_buffer``."""

    _fields_ = (
        ("buf", c_void_p),
        ("obj", py_object),
        ("len", c_ssize_t),
        ("itemsize", c_ssize_t),
        ("readonly", c_int),
        ("ndim", c_int),
        ("format", c_char_p),
        ("shape", ctypes.POINTER(c_ssize_t)),
        ("strides", ctypes.POINTER(c_ssize_t)),
        ("suboffsets", ctypes.POINTER(c_ssize_t)),
        ("internal", c_void_p),
    )


def ask(exporter: object, flags: int, writes: bool = False) -> dict[str, object]:
    """Ask for a buffer, release it, and return its fields; raises the exception of the exporter."""
    buffer = Buffer()
    pythonapi.PyObject_GetBuffer(py_object(exporter), ctypes.byref(buffer), flags)
    try:
        for lengths in (buffer.shape, buffer.strides) if writes else ():
            lengths[0] = -1
        return {
            "buf": buffer.buf,
            "len": buffer.len,
            "itemsize": buffer.itemsize,
            "readonly": bool(buffer.readonly),
            "ndim": buffer.ndim,
            "format": buffer.format,
            "shape": tuple(buffer.shape[: buffer.ndim]) if buffer.shape else None,
            "strides": tuple(buffer.strides[: buffer.ndim]) if buffer.strides else None,
            "suboffsets": bool(buffer.suboffsets),
        }
    finally:
        pythonapi.PyBuffer_Release(ctypes.byref(buffer))


def ask_whether_contiguous(exporter: object, flags: int) -> bool:
    """Ask for a buffer, and CPython's C interface whether it is contiguous."""
    buffer = Buffer()
    pythonapi.PyObject_GetBuffer(py_object(exporter), ctypes.byref(buffer), flags)
    try:
        return bool(pythonapi.PyBuffer_IsContiguous(ctypes.byref(buffer), ctypes.c_char(b"A")))
    finally:
        pythonapi.PyBuffer_Release(ctypes.byref(buffer))
