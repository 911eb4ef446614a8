# SPDX-License-Identifier: Apache-2.0
"""Hand-made producers: a struct with fields that can all be set, and an object that exports it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from dlpack_conformance import structs as c

__all__ = ["Hands", "Struct", "address_of"]

#: Every struct, until the process ends: the code that would free it may be gone earlier.
_kept: list[Struct] = []


def address_of(array: np.ndarray[Any, Any]) -> int:
    """Return the address of the first element."""
    return int(array.__array_interface__["data"][0])


class Struct:
    """A ``DLManagedTensor[Versioned]``, in a capsule; counts the calls of its deleter.

    Parameters
    ----------
    versioned : bool
        Which of the two.
    array : numpy.ndarray
        Source of shape, strides and dtype.
    data : int
        Address of the first element on the device.
    device : pair of int
        Its device.
    keep : object
        Owner of the memory; lives until the deleter has run.
    **fields
        Fields to override: ``shape``, ``strides`` (None is NULL), ``ndim``, ``dtype`` (code, bits,
        lanes), ``byte_offset``, ``flags``, ``version``, ``deleter`` (False is NULL).
    """

    def __init__(
        self,
        versioned: bool,
        array: np.ndarray[Any, Any],
        data: int,
        device: tuple[int, int],
        keep: object = None,
        **fields: Any,
    ) -> None:
        self.versioned, self.keep, self.deleted = versioned, keep, 0
        shape = fields.get("shape", array.shape)
        strides = fields.get("strides", tuple(step // array.itemsize for step in array.strides))
        self._dims: list[Any] = [
            None if dims is None else (ctypes.c_int64 * len(dims))(*dims)
            for dims in (shape, strides)
        ]
        self.struct = managed = c.STRUCTS[versioned]()
        self._deleter = c.Deleter(self._delete)
        if fields.get("deleter", True):
            managed.deleter = ctypes.cast(self._deleter, ctypes.c_void_p)
        if versioned:
            managed.version = c.DLPackVersion(*fields.get("version", (1, 0)))
            managed.flags = fields.get("flags", 0)
        dl = managed.dl_tensor
        dl.data = data
        dl.device = c.DLDevice(*device)
        dl.ndim = fields.get("ndim", len(shape or ()))
        dl.dtype = c.DLDataType(*fields.get("dtype", (*c.DTYPES[array.dtype.name], 1)))
        dl.shape, dl.strides = (ctypes.cast(dims, c.Lengths) for dims in self._dims)
        dl.byte_offset = fields.get("byte_offset", 0)
        self.capsule = c.new_capsule(ctypes.addressof(managed), c.NAMES[versioned])
        # A deleter may be called after the interpreter has cleared its modules.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._deleter))
        _kept.append(self)

    def _delete(self, _address: int) -> None:
        """Count; the struct stays, so that a second call is counted as well."""
        self.deleted += 1
        self.keep = None

    @property
    def consumed(self) -> bool:
        """Whether a consumer has taken ownership of the struct."""
        return c.is_consumed(self.capsule)


class Hands:
    """A producer that exports the capsules of `make(versioned)`.

    Parameters
    ----------
    make : callable
        Takes a bool, returns a capsule.
    device : object
        The result of ``__dlpack_device__``.

    Attributes
    ----------
    calls : list of dict
        The keywords of each call of ``__dlpack__``.
    """

    def __init__(self, make: Callable[[bool], Any], device: Any = c.CPU) -> None:
        self.make, self.device = make, device
        self.calls: list[dict[str, Any]] = []

    def __dlpack_device__(self) -> Any:
        """Answer."""
        return self.device

    def __dlpack__(self, **keywords: Any) -> Any:
        """Record the keywords, and export."""
        self.calls.append(keywords)
        return self.make(keywords.get("max_version") is not None)
