# SPDX-License-Identifier: Apache-2.0
"""Memory that is dropped while work on it is pending: it is not allocated again before the end."""

import gc
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import dpctl
import numpy as np

import sycl_ext as sx
from sycl_ext_hardware.late import is_pending, memory_of
from sycl_ext_hardware.parts.streams import FORMS
from sycl_ext_hardware.samples import Numbers, Row, Samples, as_numbers, difference, numbers
from sycl_ext_hardware.setup import ORDERS, OTHER, QUEUES, Setup, UsmType

#: How many tensors are made while the work is pending. If the dropped block were free, one of them
#: would get it.
BLOCKS = 4


def rows(setup: Setup) -> Iterator[Row]:
    """Yield the rows of this part."""
    for queue in QUEUES:
        yield f"dropped under work on {queue}", partial(drop_row, setup, partial(under, queue))
    for form, order in product(FORMS, ORDERS):
        name = f"reuse behind a consumer's queue: stream={form}, its queue {order}"
        yield name, partial(drop_row, setup, partial(behind_a_consumer, form, order))
    yield "dropped under a copy with wait=False", lambda: under_a_copy(setup)
    yield "array of NumPy dropped under a copy with wait=False", lambda: under_its_copy(setup)


#: Starts work that copies the memory in the last argument to a new tensor, and drops the tensor.
#: Returns the event of the work, the address of the tensor, and whether the work was pending.
Start = Callable[[Setup, UsmType, Numbers, Any], tuple[dpctl.SyclEvent, int, bool]]


def drop_row(setup: Setup, start: Start) -> str:
    """Drop memory to which work will write, and check that later tensors keep their elements."""
    samples = Samples()
    writer = setup.new_queue("in-order")  # it is not ordered behind the work
    for name, kind, old, new in setup.tries():
        other, source = numbers(OTHER, old.nbytes), setup.tensor(kind, new)
        theirs = setup.tensor(kind, other)
        event, address, pending = start(setup, kind, old, memory_of(source))
        gc.collect()
        later = [
            sx.empty(old.size, "int64", usm_type=kind, device=setup.device) for _ in range(BLOCKS)
        ]
        is_reused = any(tensor.ptr == address for tensor in later) and is_pending(event)
        for tensor in later:
            writer.memcpy(memory_of(tensor), memory_of(theirs), other.nbytes)
        event.wait()
        differences = [
            difference(as_numbers(t.to_numpy(copy=True)), other, those_of_the_work=new)
            for t in later
        ]
        problem = "its block was allocated again before the work was done" if is_reused else ""
        samples.add(name, next(filter(None, differences), problem), pending=pending)
    return samples.result()


def under(
    queue: str, setup: Setup, kind: UsmType, old: Numbers, filler: Any
) -> tuple[dpctl.SyclEvent, int, bool]:
    """Drop a tensor under work on its own queue."""
    tensor = setup.tensor(kind, old, queue)
    event = setup.late.submit(tensor.sycl_queue, memory_of(tensor), filler)
    return event, tensor.ptr, is_pending(event)


def behind_a_consumer(
    form: str, order: str, setup: Setup, kind: UsmType, old: Numbers, filler: Any
) -> tuple[dpctl.SyclEvent, int, bool]:
    """Drop a tensor and its export while the queue that the consumer named is writing."""
    tensor, consumer = setup.tensor(kind, old), setup.queue(order)
    memory = memory_of(tensor)
    capsule = tensor.__dlpack__(stream=FORMS[form](consumer), max_version=(1, 0))
    event = setup.late.submit(consumer, memory, filler)
    pending = is_pending(event)
    del capsule
    return event, tensor.ptr, pending


def under_a_copy(setup: Setup) -> str:
    """Drop the source of a copy that waits for earlier work."""
    samples = Samples()
    for name, kind, old, new in setup.tries():
        target, source, filler = (setup.tensor(kind, data) for data in (old, old, new))
        event = setup.late.submit(source.sycl_queue, memory_of(source), memory_of(filler))
        copy = target.copy_from(source, wait=False)
        pending = is_pending(event)
        del source
        later = [setup.tensor(kind, numbers(OTHER, old.nbytes)) for _ in range(BLOCKS)]
        copy.wait()
        samples.add(
            name,
            difference(as_numbers(target.to_numpy(copy=True)), new, from_before_the_copy=old),
            pending=pending,
        )
        del later
    return samples.result()


def under_its_copy(setup: Setup) -> str:
    """Drop an array of NumPy from which a copy will read."""
    samples = Samples()
    for name, kind, old, new in setup.tries():
        target, filler = setup.tensor(kind, old), setup.tensor(kind, old)
        event = setup.late.submit(target.sycl_queue, memory_of(target), memory_of(filler))
        array = new.copy()
        copy = target.copy_from(array, wait=False)
        pending = is_pending(event)
        del array
        later = [np.full_like(old, OTHER) for _ in range(BLOCKS)]
        copy.wait()
        samples.add(
            name,
            difference(as_numbers(target.to_numpy(copy=True)), new, from_before_the_copy=old),
            pending=pending,
        )
        del later
    return samples.result()
