# SPDX-License-Identifier: Apache-2.0
"""Every way into and out of a tensor (`ways`) while a kernel that uses its memory is pending.

The kernel waits for a gate that the test opens once the way has returned, or waits itself.  Then

- a way that reads must give the result of a pending kernel,
- a way that writes must leave the earlier elements to a pending kernel,
- memory whose last holder is dropped must stay as it is until the kernel is done.

Each way is tried with the kernel on every queue of `QUEUES`, with the kinds of USM by turns.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import dpctl
import dpctl.memory
import numpy as np

import environments
import sycl_ext as sx
import ways
from kernels import Gate, Kernels, is_usm
from samples import USM_TYPES
from ways import WAYS, Tag, Way

ON_GPU = os.environ.get("SYCL_EXT_ENVIRONMENT", "").startswith("opencl_gpu")
NBYTES = 1024
#: The memory is full of one of these int64 numbers, for every type of elements; as bfloat16
#: they are ones, twos, threes.
NEW, OLD, OTHER = (number * 0x0001_0001_0001_0001 for number in (0x3F80, 0x4000, 0x4040))
#: So long a way may take to return before the kernel is let go; too short, and a defect goes
#: unseen, but correct code never fails.
PATIENCE = 0.01
EVERY_CELL = os.environ.get("SYCL_EXT_SOAK") == "1"

#: name -> the queue that the tensor is made with, and the one that the kernel is on.
QUEUES = {
    "device": ("device", "device"),
    "own": ("in-order", "in-order"),
    "own, out-of-order": ("out-of-order", "out-of-order"),
    "own, kernel on device's": ("in-order", "device"),
    "foreign, out-of-order": ("out-of-order", "out-of-order"),
    "private": ("private", "private"),
}
#: On the GPU each way is tried every day on two of the queues, by turns, so that each queue meets
#: a third of the ways, in each kind of USM.  The CPU device has the whole matrix every day.
QUEUES_OF_A_WAY = 2 if ON_GPU and not (environments.LONG or EVERY_CELL) else len(QUEUES)


@functools.cache
def device() -> sx.Device:
    return sx.device("opencl:gpu:0" if ON_GPU else None)


@functools.cache
def queue(name: str) -> dpctl.SyclQueue:
    """The queue of this name; all but the private one are in the default context."""
    if name == "device":
        return device().sycl_queue
    private, of = name == "private", device().sycl_device
    context = dpctl.SyclContext([of]) if private else device().sycl_context
    properties = ["in_order"] if private or name == "in-order" else []
    return dpctl.SyclQueue(context, of, property=properties)


@functools.cache
def kernels_in(private: bool) -> Kernels:
    return Kernels(queue("private" if private else "device"))


def numbers(data: Any) -> set[int]:
    """The int64 numbers in the result of a way."""
    array = np.ascontiguousarray(ways.content(data))
    assert array.size
    return set(np.frombuffer(array.tobytes(), "int64").tolist())


def full_of(number: int, dtype: str = "int64") -> np.ndarray:
    return np.full(NBYTES // 8, number, "int64").view(dtype)


def at(address: int) -> set[int]:
    return numbers(ctypes.string_at(address, NBYTES))


def new_tensor(queue_name: str, kind: str, dtype: str = "int64", nbytes: int = NBYTES) -> sx.Tensor:
    """A tensor full of OLD, with nothing pending."""
    full = np.full(nbytes // 8, OLD)
    on = queue(QUEUES[queue_name][0])
    if queue_name.startswith("foreign"):
        memory = getattr(dpctl.memory, f"MemoryUSM{kind.title()}")(nbytes, queue=on)
        memory.copy_from_host(full.view("uint8"))
        fields = {"shape": full.shape, "typestr": "<i8", "data": (memory._pointer, False)}
        description = {**memory.__sycl_usm_array_interface__, **fields}
        return sx.as_tensor(ways.Described(description, memory), copy=False)
    where = device() if on == device().sycl_queue else on
    tensor = sx.empty(8 * full.size // np.dtype(dtype).itemsize, dtype, usm_type=kind, device=where)
    tensor.copy_from(full.view(dtype))
    on.wait()
    return tensor


# ---- which ways, and where -----------------------------------------------------------------------


def reading() -> list[str]:
    return [*ways.select(ways.VIEW, ways.HOST, ways.COPY, ways.EITHER, ways.NUMBER)]


def writing() -> list[str]:
    views = ways.select(ways.VIEW, ways.HOST, readonly=False, dtype="int64")
    return [*ways.select(ways.WRITES), *views]


def holding() -> list[str]:
    return [*ways.select(ways.VIEW, ways.HOST, holds=True, dtype="int64")]


def exists(does: str, name: str, queue_name: str, kind: str) -> bool:
    """Some ways are for memory that the host reaches, or that is in the default context."""
    way, apart = WAYS[name], ON_GPU and kind == "device"
    if apart and (way.host or (way.gives == ways.HOST and does != "read")):
        return False
    if queue_name == "private" and way.default:
        # A copy: nothing to write to, and on an OpenCL GPU nothing that is made unasked.
        return does == "read" and not apart and Tag.C_TABLE not in way.tags
    if Tag.WITHOUT_STREAM in way.tags and queue_name == "own, kernel on device's":
        return False  # the queue that the producer shows is not that of its work
    if queue_name.startswith("foreign"):  # its maker also frees it
        return way.dtype == "int64" and does != "drop"
    return True


def cells(does: str, name: str) -> Iterator[tuple[str, str]]:
    """Queues with a kind of USM each, by turns (``SYCL_EXT_SOAK=1``: every kind)."""
    first = list(WAYS).index(name)
    for second, queue_name in enumerate(QUEUES):
        if (second - first) % len(QUEUES) >= QUEUES_OF_A_WAY:
            continue
        for kind in USM_TYPES if EVERY_CELL else [USM_TYPES[(first + second) % 3]]:
            if exists(does, name, queue_name, kind):
                yield queue_name, kind


# ---- the three promises --------------------------------------------------------------------------


@dataclass
class Outcome:
    """The result of a call while a kernel was pending."""

    result: Any = None
    problem: str = ""


def run(gate: Gate, call: Callable[[], Any], patience: float = PATIENCE) -> Outcome:
    """Make a call in another thread, which may wait for the kernel, and then open the gate."""
    outcome = Outcome()

    def record() -> None:
        try:
            outcome.result = call()
        except Exception:  # as text: a traceback would keep the memory alive
            outcome.problem = traceback.format_exc()

    thread = threading.Thread(target=record, daemon=True)
    thread.start()
    thread.join(patience)
    watched = gate.was_opened_by_the_watch
    gate.open()
    thread.join(60)
    if thread.is_alive():
        outcome.problem = "hangs, although the kernel is done"
    elif watched:
        outcome.problem = "waits for the kernel and holds the GIL"
    return outcome


def _as_int64(way: Way, result: Any) -> Any:
    """Numbers of Python as the bytes that they were made of."""
    return np.asarray(result, way.dtype) if way.gives == ways.NUMBER else result


def check_read(name: str, queue_name: str, kind: str) -> str:
    """The defect, or nothing."""
    way = WAYS[name]
    tensor, on = new_tensor(queue_name, kind, way.dtype), queue(QUEUES[queue_name][1])
    with kernels_in(queue_name == "private").gate() as gate:
        kernels_in(queue_name == "private").fill(on, gate, tensor.ptr, NBYTES, NEW)
        outcome = run(gate, lambda: numbers(_as_int64(way, way.call(tensor))))
        on.wait()
    if not outcome.problem and outcome.result != {NEW}:
        outcome.problem = f"stale: {outcome.result}"
    return outcome.problem


def check_write(name: str, queue_name: str, kind: str) -> str:
    """The defect, or nothing."""
    way = WAYS[name]
    tensor, on = new_tensor(queue_name, kind), queue(QUEUES[queue_name][1])
    out = sx.zeros(NBYTES // 8, "int64", usm_type="host", device=queue(QUEUES[queue_name][0]))
    out.sycl_queue.wait()

    def write() -> None:
        if way.gives == ways.WRITES:
            way.call(tensor, full_of(OTHER))
        else:
            values = way.call(tensor)
            ways.write(values, way.like(full_of(OTHER)))

    with kernels_in(queue_name == "private").gate() as gate:
        kernels_in(queue_name == "private").copy(on, gate, out.ptr, tensor.ptr, NBYTES)
        outcome = run(gate, write)
        on.wait()
    if not outcome.problem and at(out.ptr) != {OLD}:
        outcome.problem = f"the kernel saw later elements: {at(out.ptr)}"
    if not outcome.problem and OTHER not in (values := numbers(tensor)):
        outcome.problem = f"not written: {values}"
    return outcome.problem


def check_drop(name: str, queue_name: str, kind: str) -> str:
    """The defect, or nothing, for a block of the pool and one of the runtime."""
    return _check_drop(name, queue_name, kind, 1 << 10) or _check_drop(
        name, queue_name, kind, 1 << 20
    )


def _check_drop(name: str, queue_name: str, kind: str, nbytes: int) -> str:
    tensor, on = new_tensor(queue_name, kind, nbytes=nbytes), queue(QUEUES[queue_name][1])
    where = queue(QUEUES[queue_name][0])
    out = sx.zeros(NBYTES // 8, "int64", usm_type="host", device=where)
    address, holders = tensor.ptr, [WAYS[name].call(tensor)]
    del tensor
    on.wait()
    where.wait()

    def drop() -> str:
        holders.clear()
        again = [sx.empty(nbytes // 8, "int64", usm_type=kind, device=where) for _ in range(4)]
        if any(t.ptr < address + nbytes and address < t.ptr + nbytes for t in again):
            return "the memory was given to somebody else"
        return "" if is_usm(on, address) else "the memory was freed"

    with kernels_in(queue_name == "private").gate() as gate:
        kernels_in(queue_name == "private").copy(on, gate, out.ptr, address, NBYTES)
        outcome = run(gate, drop, 30)
        on.wait()
    if not outcome.problem and at(out.ptr) != {OLD}:
        outcome.problem = f"the kernel saw other bytes: {at(out.ptr)}"
    return outcome.problem or outcome.result
