# SPDX-License-Identifier: Apache-2.0
"""Hand-made producers, good and bad, as exhibits; and `check_export`, the contract of an export.

`Managed` is a managed tensor of which every field can be set; it counts the calls of its deleter.
The classes below it are producers as they are met, each with one habit, named after it.
"""

from __future__ import annotations

import ctypes
import gc
from math import prod
from typing import Any

import pytest

import sycl_ext as sx
from dlpack_conformance.structs import (
    CPU,
    DTYPES,
    IS_COPIED,
    NAMES,
    ONE_API,
    READ_ONLY,
    STRUCTS,
    Deleter,
    DLDataType,
    DLDevice,
    DLPackVersion,
    ExchangeApi,
    FromObject,
    Stream,
    capsule_name,
    lengths,
    managed_in,
    new_capsule,
    take,
)

COMPACT = "compact"

#: Managed tensors whose deleter has still to run: somebody holds their address.
_waiting: set[Managed] = set()


class Managed:
    """A ``DLManagedTensor[Versioned]`` made by hand.

    Parameters
    ----------
    data : int
        The address; 0 is NULL.
    shape, strides : tuple of int, or None for NULL
        `strides` may also be `COMPACT`.
    dtype : str, or (code, bits, lanes)
    deleter : bool
        False: NULL.
    keep : object
        Lives as long as the managed tensor: the owner of the memory.
    """

    def __init__(
        self,
        data: int,
        shape: tuple[int, ...] | None = (),
        strides: tuple[int, ...] | str | None = COMPACT,
        *,
        device: tuple[int, int] = CPU,
        dtype: str | tuple[int, int, int] = "float32",
        ndim: int | None = None,
        byte_offset: int = 0,
        flags: int = 0,
        version: tuple[int, int] = (1, 3),
        versioned: bool = True,
        deleter: bool = True,
        keep: object = None,
    ) -> None:
        if strides == COMPACT:
            strides = tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))
        self.deleted = 0
        self.versioned = versioned
        self._keep = keep
        self._shape = None if shape is None else (ctypes.c_int64 * len(shape))(*shape)
        self._strides = None if strides is None else (ctypes.c_int64 * len(strides))(*strides)
        self._deleter = Deleter(self._delete)
        self._struct = managed = STRUCTS[versioned]()
        if versioned:
            managed.version, managed.flags = DLPackVersion(*version), flags
        managed.deleter = ctypes.cast(self._deleter, ctypes.c_void_p) if deleter else None
        managed.dl_tensor.data = data
        managed.dl_tensor.device = DLDevice(*device)
        managed.dl_tensor.ndim = len(shape or ()) if ndim is None else ndim
        managed.dl_tensor.dtype = DLDataType(*((*DTYPES[dtype], 1) if dtype in DTYPES else dtype))
        pointer = ctypes.POINTER(ctypes.c_int64)
        managed.dl_tensor.shape = ctypes.cast(self._shape, pointer)
        managed.dl_tensor.strides = ctypes.cast(self._strides, pointer)
        managed.dl_tensor.byte_offset = byte_offset
        self.address = ctypes.addressof(managed)

    def _delete(self, address: int) -> None:
        assert address == self.address
        self.deleted += 1
        self._keep = None
        _waiting.discard(self)

    def hand_over(self) -> int:
        """Its address, for somebody who calls the deleter: it lives until then."""
        if self._struct.deleter:
            _waiting.add(self)
        return self.address

    def capsule(self, name: bytes | None = b"") -> object:
        """A capsule over it; `name` is by default the right one."""
        return new_capsule(self.hand_over(), NAMES[self.versioned] if name == b"" else name)


def over(array: Any, **fields: Any) -> Managed:
    """A managed tensor over a NumPy array or a `Tensor`, with fields to overrule."""
    if isinstance(array, sx.Tensor):
        data, strides, device = array.ptr, array.strides, array.__dlpack_device__()
        flags = READ_ONLY if array.readonly else 0
    else:
        data = array.__array_interface__["data"][0]
        strides, device = tuple(stride // array.itemsize for stride in array.strides), CPU
        flags = 0 if array.flags.writeable else READ_ONLY
    known = {
        "data": data,
        "shape": array.shape,
        "strides": strides,
        "device": device,
        "dtype": array.dtype.name,
        "flags": flags,
        "keep": array,
    }
    return Managed(**{**known, **fields})


def as_strided(tensor: Any, shape: tuple, strides: tuple, offset: int = 0) -> Any:
    """A view of the memory of a tensor with any strides, through a third-party capsule."""
    data = tensor.ptr + offset * tensor.itemsize
    return sx.from_dlpack(over(tensor, data=data, shape=shape, strides=strides).capsule())


class Bytes:
    """Shows bytes at an address as USM, by ``__sycl_usm_array_interface__`` and nothing else."""

    def __init__(self, address: int, nbytes: int, syclobj: object) -> None:
        self.__sycl_usm_array_interface__ = {
            "data": (address, False),
            "shape": (nbytes,),
            "strides": None,
            "typestr": "|u1",
            "version": 1,
            "offset": 0,
            "syclobj": syclobj,
        }


# ---- producers -----------------------------------------------------------------------------------


class Producer:
    """A producer by the book over an array or a tensor; remembers how it was asked."""

    def __init__(self, array: Any, **fields: Any) -> None:
        self.array, self.fields = array, fields
        self.made: list[Managed] = []
        self.calls: list[dict[str, Any]] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        device = self.made_now().device
        return (device.device_type, device.device_id)

    def made_now(self):
        return over(self.array, **self.fields)._struct.dl_tensor

    def make(self, **fields: Any) -> object:
        self.made.append(over(self.array, **{**self.fields, **fields}))
        return self.made[-1].capsule()

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None) -> object:
        self.calls.append(
            {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        )
        if dl_device not in (None, self.__dlpack_device__()):
            raise BufferError(f"not on {dl_device}")
        if copy:
            raise BufferError("does not copy")
        return self.make(versioned=max_version is not None and max_version >= (1, 0))

    @property
    def deleted(self) -> list[int]:
        """Calls of the deleter of each managed tensor that was handed out."""
        return [managed.deleted for managed in self.made]


class BeforeVersions(Producer):
    """A producer of 2021: knows only `stream`, and the legacy struct."""

    def __dlpack__(self, stream=None) -> object:
        self.calls.append({"stream": stream})
        return self.make(versioned=False, strides=None)


class LegacyAlone(Producer):
    """Takes every keyword, and gives the legacy struct: jax."""

    def __dlpack__(self, **keywords) -> object:
        self.calls.append(keywords)
        return self.make(versioned=False)


class WithoutKeywords(Producer):
    """Refuses every keyword."""

    def __dlpack__(self) -> object:
        self.calls.append({})
        return self.make(versioned=False)


class StreamStrict(Producer):
    """NumPy and pyarrow: any `stream` that is not None is an error, and no TypeError."""

    def __dlpack__(self, *, stream=None, **keywords) -> object:
        if stream is not None:
            raise RuntimeError("only stream=None is supported")
        return super().__dlpack__(**keywords)


class Liar(Producer):
    """Announces a device that is not the one in its capsules."""

    def __init__(self, array: Any, announces: tuple[int, int], **fields: Any) -> None:
        super().__init__(array, **fields)
        self.announces = announces

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.announces


class Raising(Producer):
    """Raises where it should hand out a capsule."""

    def __init__(self, array: Any, error: Exception, **fields: Any) -> None:
        super().__init__(array, **fields)
        self.error = error

    def __dlpack__(self, **keywords) -> object:
        self.calls.append(keywords)
        raise self.error


class Homeless(Producer):
    """Cannot say where its data is (dpnp, for arrays on a sub-device)."""

    def __dlpack_device__(self) -> tuple[int, int]:
        raise ValueError("could not determine the id of the device")


class NoCapsule(Producer):
    """Returns something else than a capsule."""

    def __init__(self, array: Any, answer: object, **fields: Any) -> None:
        super().__init__(array, **fields)
        self.answer = answer

    def __dlpack__(self, **keywords) -> object:
        return self.answer


class Ignoring(Producer):
    """Takes `copy` and `dl_device`, and hands out a view of where it is all the same."""

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None) -> object:
        self.calls.append(
            {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        )
        return self.make()


class AlwaysCopying(Producer):
    """Cannot give a view: each capsule is a copy, and says so."""

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None) -> object:
        if copy is False:
            raise BufferError("cannot do without a copy")
        self.array = self.array.copy()
        return self.make(flags=IS_COPIED)


class Foreign(Producer):
    """On a device that we do not reach (CUDA); copies to the host for who asks."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None) -> object:
        self.calls.append({"stream": stream, "dl_device": dl_device, "copy": copy})
        if dl_device == CPU and copy is not False:
            return self.make(flags=IS_COPIED)
        if dl_device in (None, (2, 0)):
            return self.make(device=(2, 0))
        raise BufferError(f"cannot copy to {dl_device}")


class Reentrant(Producer):
    """Uses the package, and collects garbage, in the middle of being imported."""

    def __dlpack__(self, **keywords) -> object:
        sx.from_dlpack(self.array).copy()
        gc.collect()
        return super().__dlpack__(**keywords)


class Consumed(Producer):
    """Hands out a capsule that somebody has consumed."""

    def __dlpack__(self, **keywords) -> object:
        capsule = super().__dlpack__(**keywords)
        sx.from_dlpack(capsule)
        return capsule


# ---- the C exchange table ------------------------------------------------------------------------


class Table:
    """A C exchange table of a producer, made by hand."""

    def __init__(self, *, major=1, previous=None, fails=False, stream=None, stream_fails=False):
        self.fails, self.address, self.made = fails, stream, []
        self.stream_fails, self.asked = stream_fails, []
        self.previous = previous
        self.struct = ExchangeApi(
            version=DLPackVersion(major, 3),
            previous=ctypes.addressof(previous.struct) if previous else None,
            from_object=FromObject(self.from_object),
            stream=Stream(self.stream),
        )
        self.capsule = new_capsule(ctypes.addressof(self.struct), b"dlpack_exchange_api")

    def from_object(self, producer, out):
        if self.fails:
            return -1
        self.made.append(over(producer.array, **producer.fields))
        out[0] = self.made[-1].hand_over()
        return 0

    def stream(self, device_type, device_id, out):
        self.asked.append((device_type, device_id))
        out[0] = self.address
        return -1 if self.stream_fails else 0


def with_table(table: Table) -> type[Producer]:
    """The producer by the book, with a C exchange table."""
    members = {"__dlpack_c_exchange_api__": table.capsule, "table": table}  # it lives as long
    cls = type("WithTable", (Producer,), members)
    # Its own __dlpack__ counts only in front of the table.
    cls.__dlpack__ = Producer.__dlpack__
    return cls


def read(capsule: object) -> tuple[tuple[int, int], int, int | None]:
    """The device, the flags and the address of a versioned capsule."""
    managed = managed_in(capsule)
    dl = managed.dl_tensor
    return (dl.device.device_type, dl.device.device_id), managed.flags, dl.data


# ---- the contract of an export -------------------------------------------------------------------


def check_export(tensor: Any) -> None:
    """Everything that holds for each export of a tensor (or host view) without other wishes."""
    live = sx.memory.live_exports()
    device = tensor.__dlpack_device__()
    host = isinstance(tensor, sx.HostView)
    assert type(device) is tuple
    assert [type(number) for number in device] == [int, int]
    assert device == (CPU if host else (ONE_API, tensor.device.root_id))

    capsule = tensor.__dlpack__(max_version=(1, 0))
    assert capsule_name(capsule) == "dltensor_versioned"
    managed = managed_in(capsule)
    assert managed.version.major == 1
    assert bool(managed.flags & READ_ONLY) == tensor.readonly
    assert not managed.flags & ~(READ_ONLY | IS_COPIED)
    assert not managed.flags & IS_COPIED
    _check_struct(managed, tensor, device)

    if tensor.readonly:
        with pytest.raises(BufferError, match=r"read-only.*max_version"):
            tensor.__dlpack__()
    else:
        legacy = tensor.__dlpack__()
        assert capsule_name(legacy) == "dltensor"
        _check_struct(managed_in(legacy), tensor, device)
        assert sx.memory.live_exports() == live + 2
        del legacy

    # Dropped, it frees its memory; consumed, it no longer does.
    assert sx.memory.live_exports() == live + 1
    address, versioned = take(capsule)
    del managed, capsule
    assert sx.memory.live_exports() == live + 1
    Deleter(STRUCTS[versioned].from_address(address).deleter)(address)
    assert sx.memory.live_exports() == live


def _check_struct(managed: Any, tensor: Any, device: tuple[int, int]) -> None:
    dl = managed.dl_tensor
    assert managed.deleter
    assert (dl.data or 0) == (tensor.ptr if tensor.size else 0)
    assert (dl.device.device_type, dl.device.device_id) == device
    assert dl.ndim == tensor.ndim
    assert (dl.dtype.code, dl.dtype.bits, dl.dtype.lanes) == (*DTYPES[tensor.dtype.name], 1)
    assert lengths(dl.shape, dl.ndim) == (tensor.shape if tensor.ndim else lengths(dl.shape, 0))
    if tensor.ndim:
        assert lengths(dl.strides, dl.ndim) == tensor.strides
    assert dl.byte_offset == 0
