# SPDX-License-Identifier: Apache-2.0
"""The ways that `pending` tries: they read, write OTHER, or are the last to hold the memory."""

from __future__ import annotations

import copy
import ctypes
import functools
import os
import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import dpctl
import dpctl.memory
import dpnp
import dpnp.tensor
import numpy as np
import pytest
import torch
import tvm_ffi

import producers
import sycl_ext as sx
from dlpack_conformance.structs import managed_in
from kernels import Kernels
from sycl_ext._exchange import mpi
from sync.lab import ExchangeApi

ON_GPU = os.environ.get("SYCL_EXT_ENVIRONMENT", "").startswith("opencl_gpu")
NBYTES = 1024
#: Whatever the type of the elements, the memory is full of one of these int64 numbers; as bfloat16
#: they are ones, twos, threes.
NEW, OLD, OTHER = (number * 0x0001_0001_0001_0001 for number in (0x3F80, 0x4000, 0x4040))
V1 = {"max_version": (1, 0)}


# ---- queues --------------------------------------------------------------------------------------


@functools.cache
def device() -> sx.Device:
    return sx.device("opencl:gpu:0" if ON_GPU else None)


def _queue(context: Any, *properties: str) -> dpctl.SyclQueue:
    return dpctl.SyclQueue(context, device().sycl_device, property=list(properties))


@functools.cache
def queue(name: str) -> dpctl.SyclQueue:
    """The queue of this name; all but the private one are in the default context."""
    if name == "device":
        return device().sycl_queue
    if name == "private":
        return _queue(dpctl.SyclContext([device().sycl_device]), "in_order")
    return _queue(device().sycl_context, *(["in_order"] if "in-order" in name else []))


@functools.cache
def kernels_in(private: bool) -> Kernels:
    return Kernels(queue("private" if private else "device"))


#: name -> the queue that the tensor is made with, and the one that the kernel is on.
QUEUES = {
    "device": ("device", "device"),
    "own": ("in-order", "in-order"),
    "own, out-of-order": ("out-of-order", "out-of-order"),
    "own, kernel on device's": ("in-order", "device"),
    "foreign, out-of-order": ("out-of-order", "out-of-order"),
    "private": ("private", "private"),
}


# ---- memory --------------------------------------------------------------------------------------


def numbers(data: Any) -> set[int]:
    """The int64 numbers in a host array, in bytes, or already found."""
    if isinstance(data, set):
        return data
    data = data if isinstance(data, bytes) else np.ascontiguousarray(data).tobytes()
    assert data
    return set(np.frombuffer(data, "int64").tolist())


def full_of(number: int, dtype: str = "int64") -> np.ndarray:
    return np.full(NBYTES // 8, number, "int64").view(dtype)


def at(address: int) -> set[int]:
    return numbers(ctypes.string_at(address, NBYTES))


class Interface:
    """Shows nothing but ``__sycl_usm_array_interface__``."""

    def __init__(self, interface: dict[str, Any], keep: Any = None) -> None:
        self.__sycl_usm_array_interface__ = interface
        self._keep = keep


def interface_of(tensor: sx.Tensor, typestr: str = "<i8") -> Interface:
    interface = dict(tensor.__sycl_usm_array_interface__)
    shape = (tensor.nbytes // int(typestr[-1]),)
    return Interface(interface | {"typestr": typestr, "shape": shape}, tensor)


def memory_at(address: int, on: dpctl.SyclQueue) -> Any:
    """Memory as dpctl knows it, for commands of a queue."""
    interface = {"data": (address, False), "shape": (NBYTES,), "strides": None, "typestr": "|u1"}
    interface |= {"offset": 0, "version": 1, "syclobj": on}
    return dpctl.memory.as_usm_memory(Interface(interface))


def read_by(on: dpctl.SyclQueue, address: int, after: Sequence[dpctl.SyclEvent] = ()) -> set[int]:
    """What one command of a queue finds."""
    landing = dpctl.memory.MemoryUSMHost(NBYTES, queue=on)
    on.memcpy_async(landing, memory_at(address, on), NBYTES, list(after)).wait()
    return at(landing._pointer)


def write_by(on: dpctl.SyclQueue, address: int, number: int) -> None:
    """One command of a queue writes."""
    source = dpctl.memory.MemoryUSMHost(NBYTES, queue=on)
    ctypes.memmove(source._pointer, full_of(number).tobytes(), NBYTES)
    on.memcpy_async(memory_at(address, on), source, NBYTES).wait()


def new_tensor(queue_name: str, kind: str, dtype: str = "int64", nbytes: int = NBYTES) -> sx.Tensor:
    """A tensor full of OLD, with nothing pending."""
    full = np.full(nbytes // 8, OLD)
    on = queue(QUEUES[queue_name][0])
    if queue_name.startswith("foreign"):
        memory = getattr(dpctl.memory, f"MemoryUSM{kind.title()}")(nbytes, queue=on)
        memory.copy_from_host(full.view("uint8"))
        interface = dict(memory.__sycl_usm_array_interface__)
        interface |= {"shape": (nbytes // 8,), "typestr": "<i8", "data": (memory._pointer, False)}
        return sx.as_tensor(Interface(interface, memory), copy=False)
    where = device() if on == device().sycl_queue else on
    tensor = sx.empty(8 * full.size // np.dtype(dtype).itemsize, dtype, usm_type=kind, device=where)
    tensor.copy_from(full.view(dtype))
    on.wait()
    return tensor


# ---- ways that read: (cell, tensor) -> the numbers that were found -------------------------------


@dataclass(frozen=True)
class Way:
    call: Callable[[sx.Tensor], Any]
    host: bool = False  # the host has to reach the memory
    default: bool = False  # copy=None has to get it into the default context without the host
    dtype: str = "int64"


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


def imported(producer: Any, **how: Any) -> set[int]:
    """What the first command of a tensor's queue finds, which takes no part in its import.

    The queue of a device is out of order, where an event has to say what comes first.
    """
    tensor = sx.from_dlpack(producer, **how)
    queue = tensor.sycl_queue
    return read_by(queue, tensor.ptr, [] if queue.is_in_order else [queue.submit_barrier()])


def behind_a_table(tensor: sx.Tensor) -> producers.Producer:
    """A producer whose C exchange table names the queue of its work."""
    work = tensor.sycl_queue
    table = producers.Table(stream=work.addressof_ref())
    producer = producers.with_table(table)(tensor)
    producer.keep = work, table
    return producer


def host_of(tensor: sx.Tensor) -> np.ndarray:
    return np.asarray(sx.host_view(tensor))


def in_capsule(capsule: object, on: dpctl.SyclQueue | None = None) -> set[int]:
    """What a capsule holds, for the host, or for the first command of a queue."""
    address = managed_in(capsule).dl_tensor.data
    return at(address) if on is None else read_by(on, address)


def by_stream(tensor: sx.Tensor, form: Callable[[Any], Any], name: str) -> set[int]:
    """What a consumer finds that has given its queue as ``stream``."""
    consumer = _consumer(name)
    return in_capsule(tensor.__dlpack__(stream=form(consumer), **V1), consumer)


def on_queue(take: Callable[[Any], sx.Tensor], name: str) -> set[int]:
    """What a queue finds that was given as the device, and so became the tensor's."""
    consumer = _consumer(name)
    tensor = take(consumer)
    assert tensor.sycl_queue == consumer
    return read_by(consumer, tensor.ptr)


def after_c_table(tensor: sx.Tensor, call: Callable[[Any], None]) -> set[int]:
    """What a consumer finds that has asked for a view, and submits to the work stream."""
    call(tensor)
    return read_by(device().sycl_queue, tensor.ptr)


def taken_by_tvm_ffi(tensor: Any) -> Any:
    return tvm_ffi.from_dlpack(tensor)


def staged(tensor: sx.Tensor) -> set[int]:
    with sx.staged(tensor, "r") as view:
        return numbers(np.asarray(view))


class Aware:
    """A communicator that takes memory of the device, as `mpi.check` found."""

    def Create_keyval(self) -> int:  # noqa: N802
        return 0

    def Get_attr(self, _key: int) -> dict[int, mpi.Check]:  # noqa: N802
        return {device().root_id: mpi.Check("", claimed=True)}


def staged_for_aware_mpi(tensor: sx.Tensor) -> set[int]:
    """As MPI reads it: at the address, and after nobody's queue."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(mpi, "_keyvals", [])  # no key of this class for communicators of mpi4py
        with sx.staged(tensor, "r", comm=Aware()) as memory:
            assert type(memory) is sx.Tensor
            assert memory.ptr == tensor.ptr
            return at(memory.ptr)


def other_place(name: str) -> sx.Device:
    return {
        "part": lambda: device().create_sub_devices(1)[0],
        "private": lambda: sx.register_context(dpctl.SyclContext([device().sycl_device])),
        "CPU": lambda: sx.device("cpu"),
    }[name]()


@functools.cache
def _consumer(name: str) -> dpctl.SyclQueue:
    """A queue that nobody else uses."""
    return _queue(device().sycl_context, *(["in_order"] if name == "in-order" else []))


def target(tensor: sx.Tensor, where: Any = None, order: str = "C") -> sx.Tensor:
    return sx.empty(tensor.shape, tensor.dtype, device=where or device(), order=order)


def dp(array: Any) -> np.ndarray:
    return dpnp.asnumpy(array)


# fmt: off
READS: dict[str, Way] = {
    # -- the tensor itself
    "to_numpy": Way(lambda t: t.to_numpy()),
    "to_numpy(copy=True)": Way(lambda t: t.to_numpy(copy=True)),
    "to_numpy of bfloat16": Way(lambda t: t.to_numpy().view("uint8"), dtype="bfloat16"),
    "to_numpy of a slice": Way(lambda t: t[::-2].to_numpy()),
    "to_numpy of a transpose": Way(lambda t: t.reshape(8, -1).T.to_numpy()),
    "to_numpy of a read-only view": Way(lambda t: t.as_readonly().to_numpy()),
    "copy": Way(lambda t: t.copy().to_numpy()),
    "copy('F')": Way(lambda t: t.reshape(8, -1).copy("F").to_numpy()),
    "copy of a slice": Way(lambda t: t[1::3].copy().to_numpy()),
    "reshape with a copy": Way(lambda t: t.reshape(8, -1).T.reshape(-1).to_numpy()),
    "copy_from(it)": Way(lambda t: target(t).copy_from(t).to_numpy()),
    "copy_from(a slice of it)": Way(lambda t: target(t[::2]).copy_from(t[::2]).to_numpy()),
    "copy_from(it), on another queue": Way(
        lambda t: target(t, _consumer("in-order")).copy_from(t).to_numpy()),
    "copy_from(host_view)": Way(lambda t: target(t).copy_from(sx.host_view(t)).to_numpy()),
    "to_device(part)": Way(lambda t: t.to_device(other_place("part"), copy=True).to_numpy()),
    "to_device(private)": Way(lambda t: t.to_device(other_place("private"), copy=True).to_numpy()),
    "to_device(default)": Way(lambda t: t.to_device(device(), copy=True).to_numpy()),
    "to_device(another queue)": Way(lambda t: on_queue(t.to_device, "in-order"), default=True),
    "to_device(CPU)": Way(lambda t: t.to_device(other_place("CPU"), copy=True).to_numpy()),
    "pickle": Way(lambda t: pickle.loads(pickle.dumps(t)).to_numpy()),
    "deepcopy": Way(lambda t: copy.deepcopy(t).to_numpy()),
    "staged": Way(staged),
    "staged for a GPU-aware MPI": Way(staged_for_aware_mpi, host=True),
    "np.asarray": Way(lambda t: np.asarray(t), host=True),
    "__array__": Way(lambda t: t.__array__(), host=True),
    "memoryview": Way(lambda t: bytes(memoryview(t)), host=True),
    "np.from_dlpack": Way(lambda t: np.from_dlpack(t, device="cpu")),
    "np.from_dlpack(copy=True)": Way(lambda t: np.from_dlpack(t, device="cpu", copy=True)),
    # -- its host view
    "host_view, asarray": Way(host_of),
    "host_view, asarray(copy=True)": Way(lambda t: np.array(sx.host_view(t), copy=True)),
    "host_view, from_dlpack": Way(lambda t: np.from_dlpack(sx.host_view(t))),
    "host_view, memoryview": Way(lambda t: bytes(memoryview(sx.host_view(t)))),
    "host_view, __array__": Way(lambda t: sx.host_view(t).__array__()),
    "host_view, torch": Way(lambda t: torch.from_dlpack(sx.host_view(t)).numpy()),
    "host_view, tvm_ffi": Way(lambda t: np.from_dlpack(taken_by_tvm_ffi(sx.host_view(t)))),
    "host_view of bfloat16": Way(
        lambda t: np.asarray(sx.host_view(t)).view("uint8"), dtype="bfloat16"),
    "host_view of bfloat16, __array__": Way(
        lambda t: sx.host_view(t).__array__().view("uint8"), dtype="bfloat16"),
    "host_view(copy=True)": Way(lambda t: np.asarray(sx.host_view(t, copy=True))),
    "host_view of a slice": Way(lambda t: host_of(t[::2])),
    "host_view of a host_view": Way(lambda t: host_of(sx.host_view(t))),
    "host_view(host_view, copy=True)": Way(
        lambda t: np.asarray(sx.host_view(sx.host_view(t), copy=True))),
    "from_dlpack(host_view)": Way(lambda t: sx.from_dlpack(sx.host_view(t)).to_numpy()),
    "from_dlpack(host_view, copy=False)": Way(
        lambda t: sx.from_dlpack(sx.host_view(t), copy=False).to_numpy(), host=True),
    "from_dlpack(host_view, copy=True)": Way(
        lambda t: sx.from_dlpack(sx.host_view(t), copy=True).to_numpy()),
    "as_tensor(host_view, device)": Way(
        lambda t: sx.as_tensor(sx.host_view(t), device=device()).to_numpy()),
    "as_tensor(host_view, CPU)": Way(
        lambda t: sx.as_tensor(sx.host_view(t), device="cpu").to_numpy()),
    "exchange(host_view, numpy)": Way(lambda t: sx.exchange(sx.host_view(t), np)),
    "exchange(host_view, dpnp)": Way(lambda t: dp(sx.exchange(sx.host_view(t), dpnp, copy=True))),
    # -- DLPack
    "from_dlpack": Way(lambda t: sx.from_dlpack(t).to_numpy()),
    "from_dlpack(copy=True)": Way(lambda t: sx.from_dlpack(t, copy=True).to_numpy()),
    "from_dlpack(device, copy=True)": Way(
        lambda t: sx.from_dlpack(t, device=device(), copy=True).to_numpy()),
    "from_dlpack of a producer": Way(
        lambda t: sx.from_dlpack(HandedOn(t)).to_numpy(), default=True),
    "from_dlpack of a capsule": Way(
        lambda t: sx.from_dlpack(t.__dlpack__(**V1)).to_numpy(), default=True),
    "from_dlpack of a legacy capsule": Way(
        lambda t: sx.from_dlpack(t.__dlpack__()).to_numpy(), default=True),
    "__dlpack__(copy=True)": Way(
        lambda t: in_capsule(t.__dlpack__(copy=True, **V1), device().sycl_queue)),
    "__dlpack__(host)": Way(
        lambda t: in_capsule(t.__dlpack__(dl_device=(1, 0), **V1))),
    "__dlpack__(host, copy=True)": Way(
        lambda t: in_capsule(t.__dlpack__(dl_device=(1, 0), copy=True, **V1))),
    "stream=None": Way(lambda t: by_stream(t, lambda q: None, "in-order"), default=True),
    "stream=queue": Way(lambda t: by_stream(t, lambda q: q, "in-order"), default=True),
    "stream=out-of-order queue": Way(
        lambda t: by_stream(t, lambda q: q, "out-of-order"), default=True),
    "stream=address": Way(
        lambda t: by_stream(t, lambda q: q.addressof_ref(), "in-order"), default=True),
    "stream=capsule": Way(
        lambda t: by_stream(t, lambda q: q._get_capsule(), "in-order"), default=True),
    "C table, take": Way(lambda t: after_c_table(t, ExchangeApi.take), default=True),
    "C table, borrow": Way(lambda t: after_c_table(t, ExchangeApi.look), default=True),
    "tvm_ffi": Way(lambda t: after_c_table(t, taken_by_tvm_ffi), default=True),
    # -- producers
    "C table of a producer": Way(lambda t: imported(behind_a_table(t)), default=True),
    "from_dlpack(without stream)": Way(lambda t: imported(WithoutStream(t)), default=True),
    "from_dlpack(without stream, copy=False)": Way(
        lambda t: imported(WithoutStream(t), copy=False), default=True),
    # -- __sycl_usm_array_interface__
    "as_tensor": Way(lambda t: sx.as_tensor(t).to_numpy()),
    "as_tensor(copy=True)": Way(lambda t: sx.as_tensor(t, copy=True).to_numpy()),
    "as_tensor(another queue)": Way(
        lambda t: on_queue(lambda q: sx.as_tensor(t, device=q), "out-of-order"), default=True),
    "as_tensor(interface)": Way(lambda t: sx.as_tensor(interface_of(t)).to_numpy()),
    "as_tensor(interface, copy=True)": Way(
        lambda t: sx.as_tensor(interface_of(t), copy=True).to_numpy()),
    "dpctl.memory": Way(
        lambda t: bytes(dpctl.memory.as_usm_memory(interface_of(t, "|u1")).copy_to_host())),
    # -- other libraries
    "dpnp.asarray": Way(lambda t: dp(dpnp.asarray(t))),
    "dpnp.tensor.asarray": Way(lambda t: dpnp.tensor.asnumpy(dpnp.tensor.asarray(t))),
    "dpnp.from_dlpack": Way(lambda t: dp(dpnp.from_dlpack(t)), default=True),
    "dpnp.from_dlpack, computed": Way(lambda t: dp(dpnp.from_dlpack(t) + 0), default=True),
    "exchange(numpy)": Way(lambda t: sx.exchange(t, np)),
    "exchange(numpy, copy=True)": Way(lambda t: sx.exchange(t, np, copy=True)),
    "exchange(torch)": Way(lambda t: sx.exchange(t, torch).numpy()),
    "exchange(memoryview)": Way(lambda t: bytes(sx.exchange(t, memoryview))),
    "exchange(a callable)": Way(lambda t: sx.exchange(t, lambda x: np.from_dlpack(x))),
    "exchange(sycl_ext)": Way(lambda t: sx.exchange(t, sx).to_numpy()),
    "exchange(sycl_ext.from_dlpack)": Way(lambda t: sx.exchange(t, sx.from_dlpack).to_numpy()),
    "exchange(device)": Way(lambda t: sx.exchange(t, device(), copy=True).to_numpy()),
    "exchange(dpnp)": Way(lambda t: dp(sx.exchange(t, dpnp)), default=True),
    "exchange(dpnp, copy=True)": Way(lambda t: dp(sx.exchange(t, dpnp, copy=True))),
}
# fmt: on


# ---- ways that write OTHER: (tensor) -> None -----------------------------------------------------


def assign(array: Any, host: bool = True) -> None:
    """Through NumPy, torch or dpnp; dpnp may go on after that, and is waited for."""
    array[...] = OTHER
    if not host:
        array.sycl_queue.wait()


def write_after_stream(tensor: sx.Tensor, name: str) -> None:
    consumer = _consumer(name)
    capsule = tensor.__dlpack__(stream=consumer, **V1)
    write_by(consumer, managed_in(capsule).dl_tensor.data, OTHER)


def write_after_c_table(tensor: sx.Tensor, call: Callable[[Any], None]) -> None:
    call(tensor)
    write_by(device().sycl_queue, tensor.ptr, OTHER)


def staged_write(tensor: sx.Tensor) -> None:
    with sx.staged(tensor, "w") as view:
        np.asarray(view)[...] = OTHER


def others(tensor: sx.Tensor, where: Any = None) -> sx.Tensor:
    return target(tensor, where).copy_from(np.full(tensor.shape, OTHER))


# fmt: off
WRITES: dict[str, Way] = {
    "copy_from(array)": Way(lambda t: t.copy_from(full_of(OTHER))),
    "copy_from(a number)": Way(lambda t: t.copy_from(np.int64(OTHER))),
    "copy_from(tensor)": Way(lambda t: t.copy_from(others(t))),
    "copy_from(tensor on another queue)": Way(
        lambda t: t.copy_from(others(t, _consumer("in-order")))),
    "copy_from(tensor of a part)": Way(lambda t: t.copy_from(others(t, other_place("part")))),
    "copy_from(host_view)": Way(lambda t: t.copy_from(sx.host_view(others(t)))),
    "copy_from(strided)": Way(lambda t: t.copy_from(others(t)[::-1])),
    "from_dlpack, copy_from": Way(lambda t: sx.from_dlpack(t).copy_from(full_of(OTHER))),
    "as_tensor, copy_from": Way(
        lambda t: sx.as_tensor(interface_of(t)).copy_from(full_of(OTHER))),
    "from_dlpack(host_view), copy_from": Way(
        lambda t: sx.from_dlpack(sx.host_view(t), copy=False).copy_from(full_of(OTHER)),
        host=True),
    "staged": Way(staged_write, host=True),
    "np.asarray": Way(lambda t: assign(np.asarray(t)), host=True),
    "memoryview": Way(lambda t: assign(np.asarray(memoryview(t))), host=True),
    "np.from_dlpack": Way(lambda t: assign(np.from_dlpack(t, device="cpu")), host=True),
    "__array__": Way(lambda t: assign(t.__array__()), host=True),
    "host_view, asarray": Way(lambda t: assign(host_of(t)), host=True),
    "host_view, __array__": Way(lambda t: assign(sx.host_view(t).__array__()), host=True),
    "host_view, from_dlpack": Way(
        lambda t: assign(np.from_dlpack(sx.host_view(t))), host=True),
    "host_view, torch": Way(lambda t: assign(torch.from_dlpack(sx.host_view(t))), host=True),
    "host_view of a host_view": Way(lambda t: assign(host_of(sx.host_view(t))), host=True),
    "exchange(numpy)": Way(lambda t: assign(sx.exchange(t, np)), host=True),
    "dpctl.memory": Way(lambda t: dpctl.memory.as_usm_memory(
        interface_of(t, "|u1")).copy_from_host(full_of(OTHER, "uint8"))),
    "dpnp.tensor.asarray": Way(lambda t: assign(dpnp.tensor.asarray(t), host=False)),
    "dpnp.from_dlpack": Way(lambda t: assign(dpnp.from_dlpack(t), host=False), default=True),
    "exchange(dpnp)": Way(lambda t: assign(sx.exchange(t, dpnp), host=False), default=True),
    "stream=queue": Way(lambda t: write_after_stream(t, "in-order"), default=True),
    "stream=out-of-order queue": Way(
        lambda t: write_after_stream(t, "out-of-order"), default=True),
    "C table, take": Way(lambda t: write_after_c_table(t, ExchangeApi.take), default=True),
    "tvm_ffi": Way(lambda t: write_after_c_table(t, taken_by_tvm_ffi), default=True),
}

# ---- who may be the last to hold the memory ------------------------------------------------------

DROPS: dict[str, Way] = {
    "the tensor": Way(lambda t: t),
    "a slice": Way(lambda t: t[1:]),
    "a reshape": Way(lambda t: t.reshape(8, -1).T),
    "as_readonly": Way(lambda t: t.as_readonly()),
    "from_dlpack": Way(lambda t: sx.from_dlpack(t)),
    "as_tensor": Way(lambda t: sx.as_tensor(interface_of(t))),
    "a capsule": Way(lambda t: t.__dlpack__(stream=-1, **V1), default=True),
    "a legacy capsule": Way(lambda t: t.__dlpack__(stream=-1), default=True),
    "a host_view": Way(lambda t: sx.host_view(t)),
    "a host_view of a host_view": Way(lambda t: sx.host_view(sx.host_view(t))),
    "a NumPy array": Way(lambda t: np.from_dlpack(sx.host_view(t)), host=True),
    "np.asarray": Way(lambda t: np.asarray(t), host=True),
    "memoryview": Way(lambda t: memoryview(t), host=True),
    "a torch tensor": Way(lambda t: torch.from_dlpack(sx.host_view(t)), host=True),
    "from_dlpack(host_view)": Way(
        lambda t: sx.from_dlpack(sx.host_view(t), copy=False), host=True),
    "dpctl.memory": Way(lambda t: dpctl.memory.as_usm_memory(interface_of(t, "|u1"))),
    "dpnp.tensor.asarray": Way(lambda t: dpnp.tensor.asarray(t)),
    "dpnp.from_dlpack": Way(lambda t: dpnp.from_dlpack(t), default=True),
    "tvm_ffi": Way(taken_by_tvm_ffi, default=True),
}
# fmt: on
