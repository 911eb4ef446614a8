# SPDX-License-Identifier: Apache-2.0
"""Reads and writes of a tensor while work on its queue is pending."""

from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np

import sycl_ext as sx
from sycl_ext_hardware.late import is_pending, memory_of
from sycl_ext_hardware.samples import (
    Cannot,
    Numbers,
    Row,
    Samples,
    as_numbers,
    difference,
    numbers,
)
from sycl_ext_hardware.setup import OTHER, QUEUES, Setup


def rows(setup: Setup) -> Iterator[Row]:
    """Yield the rows of this part."""
    for name, queue in product(setup.without_libraries(READS), QUEUES):
        yield f"read: {name}, work on {queue}", partial(read_row, setup, READS[name], queue)
    for (name, write), queue in product(WRITES.items(), QUEUES):
        yield f"write: {name}, work on {queue}", partial(write_row, setup, write, queue)


class NotHere(Exception):  # noqa: N818 - not an error
    """The host cannot read or write this kind of memory; the row goes on with the next kind."""


def host_only(tensor: sx.Tensor) -> None:
    """Raise NotHere if the host cannot reach the memory."""
    if not tensor.device.host_accessible(tensor.usm_type):
        raise NotHere


def through_memoryview(tensor: sx.Tensor) -> Any:
    host_only(tensor)
    return np.asarray(memoryview(tensor))


def through_dpnp(tensor: sx.Tensor) -> Any:
    if find_spec("dpnp") is None:
        raise Cannot("dpnp is not installed")
    import dpnp

    return dpnp.asnumpy(sx.exchange(tensor, dpnp))


def through_torch(tensor: sx.Tensor) -> Any:
    if find_spec("torch") is None:
        raise Cannot("torch is not installed")
    import torch

    return sx.exchange(tensor, torch).cpu().numpy()


def without_waiting(tensor: sx.Tensor) -> Any:
    return sx.empty_like(tensor).copy_from(tensor, wait=False).result().to_numpy(copy=True)


#: name -> the elements that it reads
READS: dict[str, Callable[[sx.Tensor], Any]] = {
    "to_numpy(copy=True)": lambda t: t.to_numpy(copy=True),
    "to_numpy(wait=False)": lambda t: t.to_numpy(wait=False).result(),
    "numpy.asarray(host_view)": lambda t: np.asarray(sx.host_view(t)),
    "memoryview": through_memoryview,
    "exchange with NumPy": lambda t: sx.exchange(t, np),
    "copy": lambda t: t.copy().to_numpy(copy=True),
    "copy_from(wait=False)": without_waiting,
    "exchange with dpnp": through_dpnp,
    "exchange with PyTorch": through_torch,
}


def write_memoryview(tensor: sx.Tensor, data: Numbers) -> None:
    host_only(tensor)
    np.asarray(memoryview(tensor))[:] = data


def write_host_view(tensor: sx.Tensor, data: Numbers) -> None:
    host_only(tensor)
    np.from_dlpack(sx.host_view(tensor))[:] = data


def write_from_device(tensor: sx.Tensor, data: Numbers) -> None:
    tensor.copy_from(sx.as_tensor(data, device=tensor.device, copy=True))


#: name -> writes elements
WRITES: dict[str, Callable[[sx.Tensor, Numbers], Any]] = {
    "copy_from(NumPy array)": lambda t, data: t.copy_from(data),
    "copy_from(NumPy array, wait=False)": lambda t, data: t.copy_from(data, wait=False),
    "copy_from(tensor)": write_from_device,
    "memoryview": write_memoryview,
    "numpy.from_dlpack(host_view)": write_host_view,
}


def read_row(setup: Setup, read: Callable[[sx.Tensor], Any], queue: str) -> str:
    """Read memory into which work will write."""
    samples = Samples()
    for name, kind, old, new in setup.tries():
        tensor, source = setup.tensor(kind, old, queue), setup.tensor(kind, new)
        memories = memory_of(tensor), memory_of(source)
        event = setup.late.submit(tensor.sycl_queue, *memories)
        pending = is_pending(event)
        try:
            elements = as_numbers(read(tensor))
        except NotHere:
            continue
        finally:
            event.wait()
        samples.add(name, difference(elements, new, from_before_the_work=old), pending=pending)
    return samples.result()


def write_row(setup: Setup, write: Callable[[sx.Tensor, Numbers], Any], queue: str) -> str:
    """Write to memory from which work will read."""
    samples = Samples()
    for name, kind, old, new in setup.tries():
        tensor, target = setup.tensor(kind, new, queue), setup.tensor(kind, old)
        other, memories = numbers(OTHER, new.nbytes), (memory_of(target), memory_of(tensor))
        event = setup.late.submit(tensor.sycl_queue, *memories)
        pending = is_pending(event)
        try:
            write(tensor, other)
        except NotHere:
            continue
        finally:
            event.wait()
        problem = difference(
            as_numbers(target.to_numpy(copy=True)), new, those_that_were_written_too_early=other
        )
        if not problem:
            problem = difference(
                as_numbers(tensor.to_numpy(copy=True)), other, from_before_the_write=new
            )
        samples.add(name, problem, pending=pending)
    return samples.result()
