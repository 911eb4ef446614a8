# SPDX-License-Identifier: Apache-2.0
"""The results of the ways, whatever they are: read, written to, and looked at."""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

import dpctl
import dpctl.memory
import numpy as np

import samples
import sycl_ext as sx
from dlpack_conformance.structs import READ_ONLY, managed_in


class Described:
    """Shows nothing but ``__sycl_usm_array_interface__``."""

    def __init__(self, description: dict[str, Any], keep: Any = None) -> None:
        self.__sycl_usm_array_interface__ = description
        self.keep = keep


class Address:
    """Memory that a consumer knows by its address, for the first command of a queue or the host."""

    def __init__(
        self, address: int, like: sx.Tensor, on: Any = None, keep: Any = None, readonly: bool = True
    ) -> None:
        self.address, self.on, self.keep, self.readonly = address or 0, on, keep, readonly
        self.nbytes, self.dtype, self.shape = like.nbytes, like.dtype, like.shape

    def _memory(self) -> Any:
        description = {"data": (self.address, False), "shape": (self.nbytes,), "strides": None}
        description |= {"offset": 0, "version": 1, "typestr": "|u1", "syclobj": self.on}
        return dpctl.memory.as_usm_memory(Described(description))

    def read(self) -> np.ndarray:
        if self.on is None or self.nbytes == 0:
            raw = ctypes.string_at(self.address, self.nbytes)
        else:
            landing = dpctl.memory.MemoryUSMHost(self.nbytes, queue=self.on)
            self.on.memcpy_async(landing, self._memory(), self.nbytes).wait()
            raw = ctypes.string_at(landing._pointer, self.nbytes)
        return np.frombuffer(raw, self.dtype).reshape(self.shape)

    def write(self, array: np.ndarray) -> None:
        if self.on is None:
            ctypes.memmove(self.address, array.tobytes(), self.nbytes)
            return
        source = dpctl.memory.MemoryUSMHost(self.nbytes, queue=self.on)
        ctypes.memmove(source._pointer, array.tobytes(), self.nbytes)
        self.on.memcpy_async(self._memory(), source, self.nbytes).wait()


def module(name: str) -> Any:
    """Of a library that not every process of the tests shall load."""
    return importlib.import_module(name)


def _library(x: Any) -> str:
    return type(x).__module__.partition(".")[0]


def content(x: Any) -> np.ndarray:
    """The elements of the result of a way, on the host."""
    if isinstance(x, sx.memory.AsyncCopy):
        return content(x.result())
    if isinstance(x, Address):
        return x.read()
    if isinstance(x, sx.Tensor):
        return x.to_numpy()
    if type(x).__name__ == "PyCapsule":
        return sx.from_dlpack(x).to_numpy()
    if isinstance(x, dpctl.memory._memory._Memory):
        return x.copy_to_host()
    if _library(x) == "dpnp":
        return module("dpnp" if hasattr(x, "asnumpy") else "dpnp.tensor").asnumpy(x)
    if _library(x) == "tvm_ffi":
        return np.from_dlpack(x)
    if _library(x) == "torch" and str(x.dtype)[6:] not in samples.NUMPY_DTYPES:  # its bytes
        return x.contiguous().reshape(-1).view(module("torch").uint8).numpy()
    return np.asarray(x)


def address_of(x: Any) -> int:
    """Of the first element of the result of a way; 0: it has none."""
    if isinstance(x, sx.memory.AsyncCopy):
        return address_of(x.result())
    if isinstance(x, Address):
        return x.address
    if isinstance(x, (sx.Tensor, sx.HostView)):
        return x.ptr
    if type(x).__name__ == "PyCapsule":
        return managed_in(x).dl_tensor.data or 0
    if isinstance(x, dpctl.memory._memory._Memory):
        return x._pointer
    if _library(x) == "dpnp":
        description = x.__sycl_usm_array_interface__
        return description["data"][0] + description.get("offset", 0) * x.itemsize
    if _library(x) in ("torch", "tvm_ffi"):
        return x.data_ptr()
    return np.asarray(x).__array_interface__["data"][0]


def is_writable(x: Any) -> bool:
    """Whether the result of a way says that its owner may write to it."""
    if isinstance(x, sx.memory.AsyncCopy):
        return is_writable(x.result())
    if isinstance(x, (Address, sx.Tensor, sx.HostView, memoryview)):
        return not x.readonly
    if type(x).__name__ == "PyCapsule":
        return not getattr(managed_in(x), "flags", 0) & READ_ONLY
    if _library(x) == "dpnp":
        return bool(x.flags.writable)
    return x.flags.writeable if isinstance(x, np.ndarray) else True


def write(x: Any, array: np.ndarray) -> None:
    """Write an array, whose elements are one number, to the result of a way."""
    if isinstance(x, sx.memory.AsyncCopy):
        write(x.result(), array)
    elif isinstance(x, Address):
        x.write(array)
    elif isinstance(x, sx.Tensor):
        x.copy_from(array)
    elif type(x).__name__ == "PyCapsule":
        write(sx.from_dlpack(x), array)
    elif _library(x) == "tvm_ffi":
        write(np.from_dlpack(x), array)
    elif isinstance(x, dpctl.memory._memory._Memory):
        x.copy_from_host(np.frombuffer(array.tobytes(), "uint8"))
    elif _library(x) == "dpnp":
        x[...] = array.flat[0]  # all of them are one number
        x.sycl_queue.wait()
    elif _library(x) == "torch":
        x[...] = module("torch").from_numpy(array)
    else:
        np.asarray(x)[...] = array


def is_within(address: int, tensor: sx.Tensor) -> bool:
    """Whether an address is in the memory of a tensor of positive strides."""
    return tensor.ptr <= address < tensor.ptr + max(tensor.nbytes, 1)
