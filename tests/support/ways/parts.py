# SPDX-License-Identifier: Apache-2.0
"""The parts of the rows: queues, consumers, producers, and the layouts that they take."""

from __future__ import annotations

import ctypes
import functools
import pickle
from collections.abc import Callable
from typing import Any

import dpctl
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
from ways.results import Address, Described, is_writable, module

V1 = {"max_version": (1, 0)}


def root(tensor: sx.Tensor) -> sx.Device:
    return sx.device(tensor.device.root_id)


@functools.cache
def _queue(root_id: int, *properties: str) -> dpctl.SyclQueue:
    device = sx.device(root_id)
    return dpctl.SyclQueue(device.sycl_context, device.sycl_device, property=list(properties))


def consumer(tensor: sx.Tensor, in_order: bool) -> dpctl.SyclQueue:
    """A queue of a consumer, in the default context, which nobody else uses."""
    return _queue(tensor.device.root_id, *(["in_order"] if in_order else []))


def sub_device_of(tensor: sx.Tensor) -> sx.Device:
    return root(tensor).create_sub_devices(1)[0]


@functools.cache
def private(root_id: int) -> sx.Device:
    return sx.register_context(dpctl.SyclContext([sx.device(root_id).sycl_device]))


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
        result = take(tensor, queue)
        assert result.sycl_queue == queue
        return Address(result.ptr, result, queue, result, result.readonly)

    return way


def from_table(x: Any) -> Address:
    """The memory for a consumer in C, by the exchange table, and the elements for its stream."""
    out = ctypes.c_void_p()
    assert exchange_api(type(x)).from_object(x, ctypes.byref(out)) == 0
    managed = DLManagedTensorVersioned.from_address(out.value)
    address = Address(
        managed.dl_tensor.data, x, _work_stream(x), readonly=managed.flags & READ_ONLY
    )
    Deleter(managed.deleter)(out.value)
    return address


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
    requests = []
    request = sx.mpi.staged_request(
        tensor, "r", lambda memory: requests.append(np.array(memory)) or Request()
    )
    getattr(request, finish)()
    return requests[0]


def receive(tensor: sx.Tensor, array: np.ndarray, finish: str) -> None:
    def start(memory: Any) -> Request:
        np.asarray(memory)[...] = array
        return Request()

    getattr(sx.mpi.staged_request(tensor, "w", start), finish)()


def staged(tensor: sx.Tensor) -> np.ndarray:
    with sx.staged(tensor, "r") as memory:
        return np.array(memory)


def staged_for_aware_mpi(tensor: sx.Tensor) -> np.ndarray:
    """As MPI reads it: at the address, and after nobody's queue."""
    with sx.staged(tensor, "r", direct=True) as memory:
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


def is_compact_bfloat16(x: Any) -> bool:
    return is_compact(x) and has_axes(x) and str(x.dtype) == "bfloat16"


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
