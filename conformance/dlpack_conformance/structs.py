# SPDX-License-Identifier: Apache-2.0
"""The structs of ``dlpack.h`` 1.3 and the capsule functions of CPython, through ctypes.

Written from the header, not from this project, so that tests read the same as a third party.
"""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    Structure,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
    py_object,
    pythonapi,
)
from math import prod
from typing import Any

import numpy as np

CPU = (1, 0)
ONE_API = 14

READ_ONLY = 1 << 0
IS_COPIED = 1 << 1
IS_SUBBYTE_TYPE_PADDED = 1 << 2

#: name of NumPy or ml_dtypes -> (DLDataTypeCode, bits)
DTYPES = {
    "bool": (6, 8),
    "int8": (0, 8),
    "int16": (0, 16),
    "int32": (0, 32),
    "int64": (0, 64),
    "uint8": (1, 8),
    "uint16": (1, 16),
    "uint32": (1, 32),
    "uint64": (1, 64),
    "float16": (2, 16),
    "float32": (2, 32),
    "float64": (2, 64),
    "complex64": (5, 64),
    "complex128": (5, 128),
    "bfloat16": (4, 16),
    "float8_e3m4": (7, 8),
    "float8_e4m3": (8, 8),
    "float8_e4m3b11fnuz": (9, 8),
    "float8_e4m3fn": (10, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8),
    "float8_e5m2fnuz": (13, 8),
    "float8_e8m0fnu": (14, 8),
}


class DLDevice(Structure):
    """A device: type and id."""

    _fields_ = (("device_type", c_int32), ("device_id", c_int32))


class DLDataType(Structure):
    """A dtype: code, bits and lanes."""

    _fields_ = (("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16))


#: One type: ctypes would make another one after a sub-interpreter has imported it.
Lengths = POINTER(c_int64)


class DLTensor(Structure):
    """An array, without its owner."""

    _fields_ = (
        ("data", c_void_p),
        ("device", DLDevice),
        ("ndim", c_int32),
        ("dtype", DLDataType),
        ("shape", Lengths),
        ("strides", Lengths),
        ("byte_offset", c_uint64),
    )


#: ``void (*deleter)(struct DLManagedTensor* self)``
Deleter = ctypes.CFUNCTYPE(None, c_void_p)


class DLManagedTensor(Structure):
    """The struct of a "dltensor" capsule: the legacy struct."""

    _fields_ = (("dl_tensor", DLTensor), ("manager_ctx", c_void_p), ("deleter", c_void_p))


class DLPackVersion(Structure):
    """A version."""

    _fields_ = (("major", c_uint32), ("minor", c_uint32))


class DLManagedTensorVersioned(Structure):
    """The struct of a "dltensor_versioned" capsule."""

    _fields_ = (
        ("version", DLPackVersion),
        ("manager_ctx", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("dl_tensor", DLTensor),
    )


FromObject = ctypes.PYFUNCTYPE(c_int, py_object, POINTER(c_void_p))
ToObject = ctypes.PYFUNCTYPE(c_int, c_void_p, POINTER(c_void_p))
Borrow = ctypes.PYFUNCTYPE(c_int, py_object, POINTER(DLTensor))
Stream = ctypes.PYFUNCTYPE(c_int, c_int32, c_int32, POINTER(c_void_p))
SetError = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_char_p)
Allocate = ctypes.PYFUNCTYPE(c_int, POINTER(DLTensor), POINTER(c_void_p), c_void_p, SetError)


class ExchangeApi(Structure):
    """``DLPackExchangeAPI``, the table of a type."""

    _fields_ = (
        ("version", DLPackVersion),
        ("previous", c_void_p),
        ("allocate", Allocate),
        ("from_object", FromObject),
        ("to_object", ToObject),
        ("borrow", Borrow),
        ("stream", Stream),
    )


NAMES = {False: b"dltensor", True: b"dltensor_versioned"}
USED_NAMES = {False: b"used_dltensor", True: b"used_dltensor_versioned"}
STRUCTS = {False: DLManagedTensor, True: DLManagedTensorVersioned}


def _declare(name: str, result: object, *arguments: object) -> Any:
    function = getattr(pythonapi, name)
    function.restype, function.argtypes = result, arguments
    return function


_new = _declare("PyCapsule_New", py_object, c_void_p, c_char_p, c_void_p)
_is_valid = _declare("PyCapsule_IsValid", c_int, py_object, c_char_p)
_get_pointer = _declare("PyCapsule_GetPointer", c_void_p, py_object, c_char_p)
_get_name = _declare("PyCapsule_GetName", c_char_p, py_object)
_get_destructor = _declare("PyCapsule_GetDestructor", c_void_p, py_object)
_set_name = _declare("PyCapsule_SetName", c_int, py_object, c_char_p)


def call_deleter(address: int, *, versioned: bool) -> None:
    """Call the deleter unless it is NULL, as a consumer does at the end.

    ctypes releases the GIL around the call, as torch and jax do.
    """
    deleter = STRUCTS[versioned].from_address(address).deleter
    if deleter:
        Deleter(deleter)(address)


#: A destructor that does nothing, ``abs``. A Python function would run while an exception is
#: pending, which Python code does not allow. A consumer that removes the destructor takes ownership
#: of the struct.
_NOTHING = ctypes.cast(ctypes.CDLL(None).abs, c_void_p)


def new_capsule(address: int, name: bytes | None) -> object:
    """A capsule that does not free its struct when it is dropped unused."""
    return _new(address, name, _NOTHING)


def is_consumed(capsule: object) -> bool:
    """Whether a capsule was renamed, or its destructor taken away."""
    return capsule_name(capsule).startswith("used") or not _get_destructor(capsule)


def capsule_name(capsule: object) -> str:
    """The name of a capsule."""
    return str(_get_name(capsule).decode())


def is_versioned(capsule: object) -> bool:
    """Whether a fresh DLPack capsule holds the versioned struct."""
    for versioned, name in NAMES.items():
        if _is_valid(capsule, name):
            return versioned
    raise AssertionError(f"{capsule!r} is not a fresh DLPack capsule")


def managed_in(capsule: object) -> Any:
    """The struct in a fresh capsule, which stays the owner."""
    versioned = is_versioned(capsule)
    managed = STRUCTS[versioned].from_address(_get_pointer(capsule, NAMES[versioned]))
    managed.capsule = capsule  # the struct lives as long as this object
    return managed


def exchange_api(type_: Any) -> ExchangeApi:
    """The C exchange table of a type."""
    capsule = type_.__dlpack_c_exchange_api__
    return ExchangeApi.from_address(_get_pointer(capsule, b"dlpack_exchange_api"))


def take(capsule: object) -> tuple[int, bool]:
    """Consume a capsule: rename it, and return the address of its struct and its version."""
    versioned = is_versioned(capsule)
    address = _get_pointer(capsule, NAMES[versioned])
    _set_name(capsule, USED_NAMES[versioned])
    return address, versioned


def lengths(pointer: Any, ndim: int) -> tuple[int, ...] | None:
    """The shape or the strides behind a pointer; None for NULL."""
    return tuple(pointer[i] for i in range(ndim)) if pointer else None


def elements(dl: DLTensor, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Copy the elements of a tensor in host memory, as its shape and strides say."""
    shape = lengths(dl.shape, dl.ndim) or ()
    if 0 in shape:
        return np.zeros(shape, dtype)
    strides = lengths(dl.strides, dl.ndim)
    compact = tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))
    if strides in (None, compact):
        raw = ctypes.string_at(dl.data + dl.byte_offset, prod(shape) * dtype.itemsize)
        return np.frombuffer(raw, dtype).reshape(shape)
    elements = np.empty(shape, dtype)
    for index in np.ndindex(*shape):
        offset = sum(i * step for i, step in zip(index, strides, strict=True)) * dtype.itemsize
        raw = ctypes.string_at(dl.data + dl.byte_offset + offset, dtype.itemsize)
        elements[index] = np.frombuffer(raw, dtype)[0]
    return elements
