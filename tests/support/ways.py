# SPDX-License-Identifier: Apache-2.0
"""The registry: every public way into and out of the memory of a tensor, each of them once.

A row of `WAYS` says how something is done with a tensor, and what that gives.  A promise (new data,
read-only, a fault at any call, ...) is a loop over the rows; the functions below read, write and
look at whatever a row gives.  A row's name begins with the public name that it uses, and
``package/setup/test_ways.py`` compares these with the package, so that none is forgotten.
"""

from __future__ import annotations

import copy
import ctypes
import functools
import importlib
import pickle
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import dpctl
import dpctl.memory
import numpy as np

import producers
import samples
import sycl_ext as sx
from dlpack_conformance.structs import (
    READ_ONLY,
    Deleter,
    DLManagedTensorVersioned,
    DLTensor,
    exchange_api,
    managed_in,
)

V1 = {"max_version": (1, 0)}
HOST_V1 = {"dl_device": (1, 0), **V1}

#: The result of a way: the memory itself, wherever it is; a host view, a copy where the host
#: cannot reach the memory; memory of its own; one or the other; a new tensor like this one; a
#: number; the tensor itself, after it was written to; nothing of the memory.
VIEW, HOST, COPY, EITHER, NEW, NUMBER, WRITES, NOTHING = (
    "view", "host view", "copy", "view or copy", "new", "number", "writes", "nothing",
)  # fmt: skip


@dataclass(frozen=True)
class Way:
    """`call(tensor)` is the way; for `WRITES` it is `call(tensor, array)`."""

    call: Callable[..., Any]
    gives: str
    any: bool = False  # takes any producer, and not only a tensor
    host: bool = False  # the host has to reach the memory
    default: bool = False  # for a view, the memory has to be in the default context
    holds: bool = True  # a view keeps the memory alive
    readonly: bool = False  # a view is read-only
    flagless: bool = False  # the library knows no read-only memory
    dtype: str = "int64"  # in tests of one dtype
    takes: Callable[[sx.Tensor], bool] = lambda _tensor: True  # which dtypes and layouts
    like: Callable[[np.ndarray], Any] = lambda array: array  # the same in NumPy
    copies: int = 1  # commands, for memory that the host cannot reach
    needs: str = ""  # "kernels", where a device without them cannot do it

    @property
    def is_view(self) -> bool:
        return self.gives in (VIEW, HOST)


# ---- what a way gives ----------------------------------------------------------------------------


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
    """Of the first element of what a way has given; 0: it has none."""
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
    """Whether its owner may write to what a way has given, by what that says of itself."""
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
    """Write an array, whose elements are one number, to what a way has given."""
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


# ---- what the rows are made of -------------------------------------------------------------------


def root(tensor: sx.Tensor) -> sx.Device:
    return sx.device(tensor.device.root_id)


@functools.cache
def _queue(root_id: int, *properties: str) -> dpctl.SyclQueue:
    device = sx.device(root_id)
    return dpctl.SyclQueue(device.sycl_context, device.sycl_device, property=list(properties))


def consumer(tensor: sx.Tensor, in_order: bool) -> dpctl.SyclQueue:
    """A queue of a consumer, in the default context, which nobody else uses."""
    return _queue(tensor.device.root_id, *(["in_order"] if in_order else []))


def part(tensor: sx.Tensor) -> sx.Device:
    return root(tensor).create_sub_devices(1)[0]


@functools.cache
def _private(root_id: int) -> sx.Device:
    return sx.register_context(dpctl.SyclContext([sx.device(root_id).sycl_device]))


class Described:
    """Shows nothing but ``__sycl_usm_array_interface__``."""

    def __init__(self, description: dict[str, Any], keep: Any = None) -> None:
        self.__sycl_usm_array_interface__ = description
        self.keep = keep


def described(tensor: sx.Tensor, **fields: Any) -> Described:
    return Described({**tensor.__sycl_usm_array_interface__, **fields}, tensor)


def as_bytes(tensor: sx.Tensor) -> Described:
    return described(tensor, typestr="|u1", shape=(tensor.nbytes,), strides=None)


class HandedOn:
    """A producer that hands on capsules, as a library would that has wrapped a tensor."""

    def __init__(self, tensor: sx.Tensor) -> None:
        self._tensor = tensor

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._tensor.__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> Any:
        return self._tensor.__dlpack__(**keywords)


class WithoutStream(HandedOn):
    """A producer from before ``stream``, and it waits for nothing."""

    def __init__(self, tensor: sx.Tensor) -> None:
        super().__init__(tensor)
        self.sycl_queue = tensor.sycl_queue

    def __dlpack__(self) -> Any:
        return self._tensor.__dlpack__(stream=-1)


def behind_a_table(tensor: sx.Tensor) -> producers.Producer:
    """A producer whose C exchange table names the queue of its work."""
    work = tensor.sycl_queue
    table = producers.Table(stream=work.addressof_ref())
    producer = producers.with_table(table)(tensor)
    producer.keep = work, table
    return producer


def handed(capsule: object, tensor: sx.Tensor, on: Any = None) -> Address:
    """The elements in a capsule, for the first command of a queue, or for the host."""
    address = managed_in(capsule).dl_tensor.data
    return Address(address, tensor, on, capsule, not is_writable(capsule))


def first_command(tensor: sx.Tensor) -> Address:
    """A tensor, for the first command of its queue, which took no part in its import.

    The queue of a device is out of order, where a barrier has to say what comes first.
    """
    queue = tensor.sycl_queue
    if not queue.is_in_order:
        queue.submit_barrier().wait()
    return Address(tensor.ptr, tensor, queue, tensor, tensor.readonly)


def by_stream(form: Callable[[Any], Any], in_order: bool = True) -> Callable[[sx.Tensor], Address]:
    """The elements for a consumer that gave its queue as ``stream``."""

    def way(tensor: sx.Tensor) -> Address:
        queue = consumer(tensor, in_order)
        return handed(tensor.__dlpack__(stream=form(queue), **V1), tensor, queue)

    return way


def on_queue(take: Callable[..., sx.Tensor], in_order: bool) -> Callable[[sx.Tensor], Address]:
    """The elements for a queue that was given as the device, and so became the tensor's."""

    def way(tensor: sx.Tensor) -> Address:
        queue = consumer(tensor, in_order)
        found = take(tensor, queue)
        assert found.sycl_queue == queue
        return Address(found.ptr, found, queue, found, found.readonly)

    return way


def from_table(x: Any) -> Address:
    """The memory for a consumer in C, by the exchange table, and the elements for its stream."""
    out = ctypes.c_void_p()
    assert exchange_api(type(x)).from_object(x, ctypes.byref(out)) == 0
    managed = DLManagedTensorVersioned.from_address(out.value)
    found = Address(managed.dl_tensor.data, x, _work_stream(x), readonly=managed.flags & READ_ONLY)
    Deleter(managed.deleter)(out.value)
    return found


def borrowed_from_table(x: Any) -> Address:
    out = DLTensor()
    assert exchange_api(type(x)).borrow(x, ctypes.byref(out)) == 0
    return Address(out.data, x, _work_stream(x), readonly=False)


def _work_stream(x: Any) -> Any:
    return root(x).sycl_queue if isinstance(x, sx.Tensor) else None


def through_pickle(tensor: sx.Tensor) -> np.ndarray:
    """Return the out-of-band bytes of a pickle, in the order of memory."""
    buffers: list[Any] = []
    pickle.dumps(tensor, 5, buffer_callback=buffers.append)
    return np.asarray(buffers[0].raw()).view(tensor.dtype).reshape(tensor.shape)


def with_buffers(tensor: sx.Tensor) -> sx.Tensor:
    buffers: list[Any] = []
    data = pickle.dumps(tensor, 5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=buffers)


class Request:
    """A request of MPI that is done."""

    def Wait(self) -> bool:  # noqa: N802
        return True

    Test = Wait


def requested(tensor: sx.Tensor, finish: str) -> np.ndarray:
    """The elements for MPI in the memory of a request."""
    found = []
    request = sx.mpi.staged_request(
        tensor, "r", lambda memory: found.append(np.array(memory)) or Request()
    )
    getattr(request, finish)()
    return found[0]


def receive(tensor: sx.Tensor, array: np.ndarray, finish: str) -> None:
    def start(memory: Any) -> Request:
        np.asarray(memory)[...] = array
        return Request()

    getattr(sx.mpi.staged_request(tensor, "w", start), finish)()


def staged(tensor: sx.Tensor) -> np.ndarray:
    with sx.staged(tensor, "r") as memory:
        return np.array(memory)


class Aware:
    """A communicator that takes memory of the device, as `mpi.check` found."""

    def __init__(self, tensor: sx.Tensor) -> None:
        self._checks = {tensor.device.root_id: sx.mpi.Check("", claimed=True)}

    def Create_keyval(self) -> int:  # noqa: N802
        return 0

    def Get_attr(self, _key: int) -> dict[int, sx.mpi.Check]:  # noqa: N802
        return self._checks


def staged_for_aware_mpi(tensor: sx.Tensor) -> np.ndarray:
    """As MPI reads it: at the address, and after nobody's queue."""
    import pytest

    from sycl_ext._exchange import mpi

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(mpi, "_keyvals", [])  # no key of this class for communicators of mpi4py
        with sx.staged(tensor, "r", comm=Aware(tensor)) as memory:
            assert type(memory) is sx.Tensor
            assert memory.ptr == tensor.ptr
            return Address(memory.ptr, tensor).read()


def stage(tensor: sx.Tensor, array: np.ndarray, mode: str = "w") -> None:
    with sx.staged(tensor, mode) as memory:
        np.asarray(memory)[...] = array


def target(x: Any, where: Any = None, order: str = "C") -> sx.Tensor:
    return sx.empty(x.shape, x.dtype, device=where, order=order)


def others(tensor: sx.Tensor, array: np.ndarray, where: Any = None) -> sx.Tensor:
    """A tensor with the elements of an array."""
    return target(tensor, where or root(tensor)).copy_from(array)


def waited_for(tensor: sx.Tensor) -> Address:
    tensor.wait()
    return Address(tensor.ptr, tensor)


# ---- which dtypes and layouts --------------------------------------------------------------------


def numpy_knows(x: Any) -> bool:
    return str(x.dtype) in samples.NUMPY_DTYPES


def has_axes(x: Any) -> bool:
    return len(x.shape) > 0 and 0 not in x.shape


def is_compact(x: Any) -> bool:
    return x.c_contiguous


def is_known_compact(x: Any) -> bool:
    return is_compact(x) and numpy_knows(x)


def is_forward(x: Any) -> bool:
    """As dpnp 0.20 takes them: no negative strides, no NULL of an empty array."""
    return numpy_knows(x) and x.size > 0 and not x.reversed


def folds(x: Any) -> bool:
    return is_compact(x) and x.size > 0 and x.size % 4 == 0


def can_hold_each(x: Any) -> bool:
    """No index shares an element with another."""
    return all(length < 2 or stride for length, stride in zip(x.shape, x.strides, strict=True))


def torch_knows(x: Any) -> bool:
    return hasattr(module("torch"), str(x.dtype))


# fmt: off
WAYS: dict[str, Way] = {
    # -- a tensor and its views
    "Tensor": Way(lambda t: t, VIEW),
    "Tensor.__getitem__": Way(lambda t: t[::-2], VIEW, takes=has_axes, like=lambda a: a[::-2]),
    "Tensor.__iter__": Way(lambda t: next(iter(t)), VIEW, takes=has_axes, like=lambda a: a[0]),
    "Tensor.T": Way(lambda t: t.T, VIEW, like=lambda a: a.T),
    "Tensor.transpose": Way(
        lambda t: t.transpose(*range(t.ndim)[::-1]), VIEW, like=lambda a: a.transpose()),
    "Tensor.squeeze": Way(lambda t: t[None].squeeze(0), VIEW),
    "Tensor.reshape": Way(
        lambda t: t.reshape(-1), VIEW, takes=is_compact, like=lambda a: a.reshape(-1)),
    "Tensor.reshape of a transpose": Way(
        lambda t: t.reshape(4, -1).T.reshape(-1), COPY, copies=2, takes=folds,
        like=lambda a: a.reshape(4, -1).T.reshape(-1)),
    "Tensor.as_readonly": Way(lambda t: t.as_readonly(), VIEW, readonly=True),
    "Tensor.wait": Way(waited_for, VIEW, host=True, holds=False, readonly=True, takes=is_compact),
    # -- copies
    "Tensor.copy": Way(lambda t: t.copy(), COPY),
    "Tensor.copy('F')": Way(lambda t: t.copy("F"), COPY),
    "Tensor.copy of a slice": Way(
        lambda t: t[1::3].copy(), COPY, copies=2, takes=has_axes, like=lambda a: a[1::3]),
    "Tensor.__copy__": Way(copy.copy, COPY),
    "Tensor.__deepcopy__": Way(copy.deepcopy, COPY),
    "Tensor.__reduce_ex__": Way(lambda t: pickle.loads(pickle.dumps(t)), COPY, copies=2),
    "Tensor.__reduce_ex__(buffers)": Way(with_buffers, COPY, copies=2),
    "Tensor.__reduce_ex__, out of band": Way(
        through_pickle, HOST, readonly=True, takes=is_known_compact),
    "Tensor.copy_from, of it": Way(lambda t: target(t, root(t)).copy_from(t), COPY),
    "Tensor.copy_from, of anything": Way(
        lambda x: sx.empty_like(x).copy_from(x), COPY, any=True),
    "Tensor.copy_from(wait=False), of anything": Way(
        lambda x: sx.empty_like(x).copy_from(x, wait=False), COPY, any=True),
    "Tensor.copy_from, of a slice of it": Way(
        lambda t: target(t[::2], root(t)).copy_from(t[::2]), COPY, copies=2, takes=has_axes,
        like=lambda a: a[::2]),
    "Tensor.copy_from, of it on another queue": Way(
        lambda t: target(t, consumer(t, True)).copy_from(t), COPY),
    "Tensor.copy_from, of its host_view": Way(
        lambda t: target(t, root(t)).copy_from(sx.host_view(t)), COPY, copies=2),
    "Tensor.copy_from(wait=False), of it": Way(
        lambda t: target(t, root(t)).copy_from(t, wait=False), COPY),
    "Tensor.to_device": Way(lambda t: t.to_device(t.device), VIEW),
    "Tensor.to_device(copy=True)": Way(lambda t: t.to_device(t.device, copy=True), COPY),
    "Tensor.to_device(part)": Way(lambda t: t.to_device(part(t), copy=True), COPY),
    "Tensor.to_device(private)": Way(
        lambda t: t.to_device(_private(t.device.root_id), copy=True), COPY),
    "Tensor.to_device(root)": Way(lambda t: t.to_device(root(t), copy=True), COPY),
    "Tensor.to_device(queue)": Way(
        on_queue(lambda t, q: t.to_device(q), True), VIEW, default=True, takes=is_compact),
    "Tensor.to_device(CPU)": Way(lambda t: t.to_device("cpu", copy=True), COPY),
    # -- new ones
    "empty": Way(
        lambda t: sx.empty(t.shape, t.dtype, usm_type=t.usm_type, device=t.device), NEW),
    "zeros": Way(
        lambda t: sx.zeros(t.shape, t.dtype, usm_type=t.usm_type, device=t.device), NEW,
        like=np.zeros_like),
    "empty_like": Way(sx.empty_like, NEW, any=True),
    "zeros_like": Way(sx.zeros_like, NEW, any=True, like=np.zeros_like),
    "zeros(queue)": Way(
        lambda t: sx.zeros(t.shape, t.dtype, device=consumer(t, True)), NEW, like=np.zeros_like),
    "zeros(part)": Way(
        lambda t: sx.zeros(t.shape, t.dtype, device=part(t)), NEW, like=np.zeros_like),
    # -- the host
    "Tensor.to_numpy": Way(lambda t: t.to_numpy(), HOST),
    "Tensor.to_numpy(copy=True)": Way(lambda t: t.to_numpy(copy=True), COPY),
    "Tensor.to_numpy(copy=False)": Way(lambda t: t.to_numpy(copy=False), HOST, host=True),
    "Tensor.to_numpy(wait=False)": Way(lambda t: t.to_numpy(wait=False), HOST),
    "AsyncCopy.result": Way(lambda t: t.to_numpy(wait=False).result(), HOST),
    "Tensor.to_numpy of bfloat16": Way(
        lambda t: t.to_numpy().view("uint8"), HOST, dtype="bfloat16", takes=lambda t: False),
    "Tensor.to_numpy of a slice": Way(
        lambda t: t[::-2].to_numpy(), HOST, takes=has_axes, like=lambda a: a[::-2]),
    "Tensor.__array__": Way(lambda t: t.__array__(), HOST, host=True),
    "Tensor.__array__, np.asarray": Way(np.asarray, HOST, host=True),
    "Tensor.__array__, np.array": Way(np.array, COPY, host=True),
    "Tensor.__buffer__": Way(memoryview, HOST, host=True, takes=numpy_knows),
    "Tensor.tolist": Way(lambda t: t.tolist(), NUMBER),
    "Tensor.item": Way(lambda t: t[:1].item(), NUMBER),
    "Tensor.__index__": Way(lambda t: t[0].__index__(), NUMBER),
    "Tensor.__int__": Way(lambda t: int(t[0]), NUMBER),
    "Tensor.__float__": Way(lambda t: float(t[0]), NUMBER, dtype="float64"),
    "Tensor.__complex__": Way(lambda t: complex(t[0]), NUMBER, dtype="complex128"),
    "staged": Way(staged, COPY),
    "staged for a GPU-aware MPI": Way(staged_for_aware_mpi, COPY, host=True, takes=is_compact),
    "mpi.staged_request": Way(lambda t: requested(t, "wait"), COPY),
    "StagedRequest.test": Way(lambda t: requested(t, "test"), COPY),
    # -- its host view
    "host_view": Way(sx.host_view, HOST, any=True),
    "host_view(copy=True)": Way(lambda t: sx.host_view(t, copy=True), COPY, any=True),
    "host_view(copy=False)": Way(lambda t: sx.host_view(t, copy=False), HOST, any=True, host=True,
                                 takes=lambda t: not t.reversed),
    "host_view of a slice": Way(
        lambda t: sx.host_view(t[::2]), HOST, takes=has_axes, like=lambda a: a[::2]),
    "host_view of a host_view": Way(lambda t: sx.host_view(sx.host_view(t)), HOST, any=True),
    "host_view of a host_view(copy=True)": Way(
        lambda t: sx.host_view(sx.host_view(t), copy=True), COPY, any=True),
    "HostView.__array__": Way(lambda t: sx.host_view(t).__array__(), HOST, any=True),
    "HostView.__array__(copy=True)": Way(lambda t: np.array(sx.host_view(t)), COPY, any=True),
    "HostView.to_numpy": Way(lambda t: sx.host_view(t).to_numpy(), HOST, any=True),
    "HostView.tolist": Way(lambda t: sx.host_view(t).tolist(), NUMBER, any=True),
    "HostView.item": Way(lambda t: sx.host_view(t[:1]).item(), NUMBER),
    "HostView.__index__": Way(lambda t: sx.host_view(t[0]).__index__(), NUMBER),
    "HostView.__int__": Way(lambda t: int(sx.host_view(t[0])), NUMBER),
    "HostView.__float__": Way(lambda t: float(sx.host_view(t[0])), NUMBER, dtype="float64"),
    "HostView.__complex__": Way(
        lambda t: complex(sx.host_view(t[0])), NUMBER, dtype="complex128"),
    "HostView.__buffer__": Way(
        lambda t: memoryview(sx.host_view(t)), HOST, any=True, takes=numpy_knows),
    "HostView.__dlpack__": Way(
        lambda t: handed(sx.host_view(t).__dlpack__(**V1), t), HOST, takes=is_compact),
    "HostView.__dlpack__, legacy": Way(
        lambda t: sx.host_view(t).__dlpack__(), HOST),
    "HostView, np.from_dlpack": Way(
        lambda t: np.from_dlpack(sx.host_view(t)), HOST, any=True, takes=numpy_knows),
    "HostView, torch": Way(
        lambda t: module("torch").from_dlpack(sx.host_view(t)), HOST, any=True, flagless=True,
        takes=torch_knows),
    "HostView, tvm_ffi": Way(
        lambda t: module("tvm_ffi").from_dlpack(sx.host_view(t)), HOST, any=True, flagless=True,
        takes=is_known_compact),
    "HostView.__dlpack_c_exchange_api__": Way(
        lambda t: from_table(sx.host_view(t)), HOST, holds=False, takes=is_compact),
    "HostView.__dlpack_c_exchange_api__, borrowed": Way(
        lambda t: borrowed_from_table(sx.host_view(t)), HOST, host=True, holds=False,
        takes=is_compact),
    "from_dlpack of a host_view": Way(
        lambda t: sx.from_dlpack(sx.host_view(t)), HOST, copies=2, any=True),
    "from_dlpack of a host_view(copy=False)": Way(
        lambda t: sx.from_dlpack(sx.host_view(t), copy=False), HOST, host=True),
    "from_dlpack of a host_view(copy=True)": Way(
        lambda t: sx.from_dlpack(sx.host_view(t), copy=True), COPY, copies=2, any=True),
    "as_tensor of a host_view": Way(
        lambda t: sx.as_tensor(sx.host_view(t)), HOST, copies=2, any=True),
    "as_tensor of a host_view(device)": Way(
        lambda t: sx.as_tensor(sx.host_view(t), device=root(t)), EITHER),
    "as_tensor of a host_view(CPU)": Way(
        lambda t: sx.as_tensor(sx.host_view(t), device="cpu"), EITHER, any=True),
    "exchange of a host_view(numpy)": Way(
        lambda t: sx.exchange(sx.host_view(t), np), HOST, any=True, takes=numpy_knows),
    "exchange of a host_view(dpnp)": Way(
        lambda t: sx.exchange(sx.host_view(t), "dpnp", copy=True), COPY, copies=2, any=True,
        takes=numpy_knows),
    # -- DLPack
    "from_dlpack": Way(sx.from_dlpack, VIEW, any=True),
    "from_dlpack(copy=False)": Way(lambda t: sx.from_dlpack(t, copy=False), VIEW, any=True),
    "from_dlpack(copy=True)": Way(lambda t: sx.from_dlpack(t, copy=True), COPY, any=True),
    "from_dlpack(device, copy=True)": Way(
        lambda t: sx.from_dlpack(t, device=root(t), copy=True), COPY),
    "from_dlpack of a producer": Way(
        lambda t: sx.from_dlpack(HandedOn(t)), VIEW, default=True),
    "from_dlpack of a capsule": Way(
        lambda t: sx.from_dlpack(t.__dlpack__(**V1)), VIEW, default=True),
    "from_dlpack of a legacy capsule": Way(
        lambda t: sx.from_dlpack(t.__dlpack__()), VIEW, default=True),
    "from_dlpack, without stream": Way(
        lambda t: first_command(sx.from_dlpack(WithoutStream(t))), VIEW, default=True,
        takes=is_compact),
    "from_dlpack(copy=False), without stream": Way(
        lambda t: first_command(sx.from_dlpack(WithoutStream(t), copy=False)), VIEW, default=True,
        takes=is_compact),
    "from_dlpack of a C table": Way(
        lambda t: first_command(sx.from_dlpack(behind_a_table(t))), VIEW, default=True,
        takes=is_compact),
    "Tensor.__dlpack__": Way(lambda t: t.__dlpack__(**V1), VIEW, default=True),
    "Tensor.__dlpack__, legacy": Way(lambda t: t.__dlpack__(), VIEW, default=True),
    "Tensor.__dlpack__(stream=-1)": Way(
        lambda t: t.__dlpack__(stream=-1, **V1), VIEW, default=True),
    "Tensor.__dlpack__(stream=-1), legacy": Way(
        lambda t: t.__dlpack__(stream=-1), VIEW, default=True),
    "Tensor.__dlpack__(own device)": Way(
        lambda t: t.__dlpack__(dl_device=(14, t.device.id), **V1), VIEW),
    "Tensor.__dlpack__(copy=True)": Way(
        lambda t: handed(t.__dlpack__(copy=True, **V1), t, root(t).sycl_queue), COPY,
        takes=is_compact),
    "Tensor.__dlpack__(host)": Way(
        lambda t: handed(t.__dlpack__(**HOST_V1), t), HOST, takes=is_compact),
    "Tensor.__dlpack__(host), legacy": Way(
        lambda t: t.__dlpack__(dl_device=(1, 0)), HOST),
    "Tensor.__dlpack__(host, copy=True)": Way(
        lambda t: handed(t.__dlpack__(copy=True, **HOST_V1), t), COPY, takes=is_compact),
    "Tensor.__dlpack__(stream=None)": Way(
        by_stream(lambda q: None), VIEW, default=True, takes=is_compact),
    "Tensor.__dlpack__(stream=queue)": Way(
        by_stream(lambda q: q), VIEW, default=True, takes=is_compact),
    "Tensor.__dlpack__(stream=out-of-order queue)": Way(
        by_stream(lambda q: q, in_order=False), VIEW, default=True, takes=is_compact),
    "Tensor.__dlpack__(stream=address)": Way(
        by_stream(lambda q: q.addressof_ref()), VIEW, default=True, takes=is_compact),
    "Tensor.__dlpack__(stream=capsule)": Way(
        by_stream(lambda q: q._get_capsule()), VIEW, default=True, takes=is_compact),
    "Tensor.__dlpack__, np.from_dlpack": Way(
        lambda t: np.from_dlpack(t, device="cpu"), HOST, takes=numpy_knows),
    "Tensor.__dlpack__, np.from_dlpack(copy=True)": Way(
        lambda t: np.from_dlpack(t, device="cpu", copy=True), COPY, takes=numpy_knows),
    "Tensor.__dlpack__, dpnp": Way(
        lambda t: module("dpnp").from_dlpack(t), VIEW, default=True, takes=is_forward),
    "Tensor.__dlpack__, dpnp, computed": Way(
        lambda t: module("dpnp").from_dlpack(t) + 0, COPY, default=True, needs="kernels",
        takes=lambda t: False),
    "Tensor.__dlpack_c_exchange_api__": Way(
        from_table, VIEW, default=True, holds=False, takes=is_compact),
    "Tensor.__dlpack_c_exchange_api__, borrowed": Way(
        borrowed_from_table, VIEW, default=True, holds=False, takes=is_compact),
    "Tensor.__dlpack_c_exchange_api__, tvm_ffi": Way(
        lambda t: Address(t.ptr, t, root(t).sycl_queue, module("tvm_ffi").from_dlpack(t),
                          readonly=False),
        VIEW, default=True, flagless=True, takes=is_compact),
    # -- __sycl_usm_array_interface__
    "as_tensor": Way(sx.as_tensor, VIEW, any=True),
    "as_tensor(copy=False)": Way(lambda t: sx.as_tensor(t, copy=False), VIEW, any=True),
    "as_tensor(copy=True)": Way(lambda t: sx.as_tensor(t, copy=True), COPY, any=True),
    "as_tensor(queue)": Way(
        on_queue(lambda t, q: sx.as_tensor(t, device=q), False), VIEW, default=True,
        takes=is_compact),
    "as_tensor of a memoryview": Way(
        lambda t: sx.as_tensor(memoryview(sx.host_view(t))),
        HOST, copies=2, any=True, takes=numpy_knows),
    "Tensor.__sycl_usm_array_interface__": Way(
        lambda t: sx.as_tensor(described(t)), VIEW, takes=numpy_knows),
    "Tensor.__sycl_usm_array_interface__(copy=True)": Way(
        lambda t: sx.as_tensor(described(t), copy=True), COPY, takes=numpy_knows),
    "Tensor.__sycl_usm_array_interface__, dpctl.memory": Way(
        lambda t: dpctl.memory.as_usm_memory(as_bytes(t)), VIEW, flagless=True,
        takes=lambda t: is_compact(t) and t.size > 0,
        like=lambda a: np.frombuffer(a.tobytes(), "uint8")),
    "Tensor.__sycl_usm_array_interface__, dpnp": Way(
        lambda t: module("dpnp").asarray(t), COPY, takes=is_forward),
    "Tensor.__sycl_usm_array_interface__, dpnp.tensor": Way(
        lambda t: module("dpnp.tensor").asarray(t), VIEW, takes=is_forward),
    # -- exchange
    "exchange(numpy)": Way(lambda t: sx.exchange(t, np), HOST, any=True, takes=numpy_knows),
    "exchange(numpy, copy=True)": Way(
        lambda t: sx.exchange(t, np, copy=True), COPY, any=True, takes=numpy_knows),
    "exchange(torch)": Way(
        lambda t: sx.exchange(t, "torch"), HOST, any=True, takes=torch_knows),
    "exchange(memoryview)": Way(
        lambda t: sx.exchange(t, memoryview), HOST, any=True, takes=numpy_knows),
    "exchange(a callable)": Way(
        lambda t: sx.exchange(t, lambda x: np.from_dlpack(x)), HOST, any=True, takes=numpy_knows),
    "exchange(sycl_ext)": Way(lambda t: sx.exchange(t, sx), VIEW, any=True),
    "exchange(sycl_ext.from_dlpack)": Way(
        lambda t: sx.exchange(t, sx.from_dlpack), VIEW, any=True),
    "exchange(device)": Way(lambda t: sx.exchange(t, root(t), copy=True), COPY),
    "exchange(host)": Way(lambda t: sx.exchange(t, (1, 0)), HOST, any=True),
    "exchange(dpnp)": Way(
        lambda t: sx.exchange(t, "dpnp"), VIEW, any=True, default=True, takes=is_forward),
    "exchange(dpnp, copy=True)": Way(
        lambda t: sx.exchange(t, "dpnp", copy=True), COPY, any=True, takes=numpy_knows),
    # -- writes
    "Tensor.copy_from": Way(lambda t, a: t.copy_from(a), WRITES, takes=can_hold_each),
    "Tensor.copy_from(a number)": Way(
        lambda t, a: t.copy_from(a.reshape(-1)[-1]), WRITES, takes=lambda t: False),
    "Tensor.copy_from(wait=False)": Way(
        lambda t, a: t.copy_from(a, wait=False).wait(), WRITES, takes=can_hold_each),
    "AsyncCopy.wait": Way(
        lambda t, a: t.copy_from(others(t, a), wait=False).wait(),
        WRITES, copies=2, takes=can_hold_each),
    "Tensor.copy_from(a tensor)": Way(
        lambda t, a: t.copy_from(others(t, a)), WRITES, copies=2, takes=can_hold_each),
    "Tensor.copy_from(a tensor on another queue)": Way(
        lambda t, a: t.copy_from(others(t, a, consumer(t, True))),
        WRITES, copies=2, takes=can_hold_each),
    "Tensor.copy_from(a tensor of a part)": Way(
        lambda t, a: t.copy_from(others(t, a, part(t))), WRITES, takes=can_hold_each),
    "Tensor.copy_from(a tensor of the CPU)": Way(
        lambda t, a: t.copy_from(others(t, a, "cpu")), WRITES, takes=can_hold_each),
    "Tensor.copy_from(a host_view)": Way(
        lambda t, a: t.copy_from(sx.host_view(others(t, a))),
        WRITES, copies=3, takes=can_hold_each),
    "Tensor.copy_from(strided)": Way(
        lambda t, a: t.copy_from(others(t, a[::-1])[::-1]), WRITES, copies=3,
        takes=lambda t: has_axes(t) and can_hold_each(t)),
    "staged(w)": Way(stage, WRITES, takes=can_hold_each),
    "staged(rw)": Way(lambda t, a: stage(t, a, "rw"), WRITES, copies=2, takes=can_hold_each),
    "StagedRequest.wait": Way(
        lambda t, a: receive(t, a, "wait"), WRITES, takes=can_hold_each),
    # -- what touches no memory
    "explain": Way(lambda t: [str(sx.explain(t, to)) for to in (None, (1, 0), np)], NOTHING,
                   any=True),
}
# fmt: on

#: Public names that are not ways into or out of a tensor -> the file that tests them.
ELSEWHERE = {
    "device devices register_context Device.create_sub_devices Device.host_accessible":
        "package/devices/test_device_table.py",
    "memory.cached memory.limit memory.release_cached memory.statistics":
        "package/devices/test_memory_use.py",
    "memory.live_exports": "package/debug/test_origins.py",
    "memory.register_host HostRegistration.close": "package/tensor/test_host_registration.py",
    "pickling.to_device": "package/tensor/test_pickle.py",
    "pickling.register": "package/exchange/test_libraries.py",
    "dlpack.capsule_from_pointer": "core/dlpack/test_dlpack_import.py",
    "ipc.empty ipc.handle ipc.open": "package/ipc/test_ipc.py",
    "ipc.register_multiprocessing": "environments/stand_in_gpu/test_gpu_anybodys_memory.py",
    "Handle.to_bytes": "environments/stand_in_gpu/test_gpu_processes.py",
    "mpi.check": "programs/processes/mpi_guard.py",
    "get_cmake_dir get_include": "package/setup/test_import.py",
    "Plan.check Plan.noting": "package/negotiation/test_rules.py",
    "AsyncCopy.done": "package/tensor/test_async_copy.py",
}  # fmt: skip

#: Protocols, which are public although their names begin with an underscore.
PROTOCOLS = re.compile(
    r"__(array|buffer|copy|deepcopy|dlpack|dlpack_c_exchange_api|getitem|iter|reduce_ex"
    r"|sycl_usm_array_interface|int|float|complex|index)__"
)


def public() -> Iterator[str]:
    """Every public function, and every public method but those that refuse to compute."""
    spaces = {name: one for name in sx.__all__ if isinstance(one := getattr(sx, name), ModuleType)}
    for space, one in {"": sx, **spaces}.items():
        for name in one.__all__:
            found = getattr(one, name)
            if isinstance(found, type):
                yield from (f"{name}.{method}" for method in _methods(found))
            elif callable(found):
                yield f"{space}.{name}".lstrip(".")


def _methods(cls: type) -> set[str]:
    return {
        name
        for base in cls.__mro__
        if base.__module__.startswith("sycl_ext") and base is not sx.dlpack.SupportsDLPack
        for name, value in vars(base).items()
        if PROTOCOLS.fullmatch(name) or (callable(value) and not name.startswith("_"))
    }


def named(name: str) -> str:
    """The public name that a row begins with."""
    return re.match(r"[\w.]+", name)[0]
