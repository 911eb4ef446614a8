# SPDX-License-Identifier: Apache-2.0
"""Exports to a consumer with a queue of its own, and imports from producers, with work pending."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import dpctl
import dpctl.memory

import sycl_ext as sx
from sycl_ext_hardware.late import is_pending, memory_of
from sycl_ext_hardware.samples import Numbers, Row, Samples, as_numbers, difference, numbers
from sycl_ext_hardware.setup import ORDERS, OTHER, QUEUES, Setup


class WithCapsule:
    """A queue of another package, which hands out capsules of it."""

    def __init__(self, queue: dpctl.SyclQueue) -> None:
        self._get_capsule = queue._get_capsule


class Stream:
    """A stream as PyTorch XPU has it: `sycl_queue` is the address of a queue."""

    def __init__(self, queue: dpctl.SyclQueue) -> None:
        self.sycl_queue = queue.addressof_ref()


#: Forms of ``stream=`` that name the queue of a consumer, and are made of it.
FORMS: dict[str, Callable[[dpctl.SyclQueue], Any]] = {
    "a dpctl.SyclQueue": lambda queue: queue,
    "a 'SyclQueueRef' capsule": lambda queue: queue._get_capsule(),
    "the address of a sycl::queue as an int": lambda queue: queue.addressof_ref(),
    "an object with _get_capsule()": WithCapsule,
    "an object with sycl_queue": Stream,
}
#: And those that do not.
WITHOUT_QUEUE: dict[str, Callable[[dpctl.SyclQueue], Any]] = {
    "None": lambda _queue: None,
    "-1": lambda _queue: -1,
}


def rows(setup: Setup) -> Iterator[Row]:
    """Yield the rows of this part."""
    forms = WITHOUT_QUEUE | FORMS
    for does, row in (("reads", consumer_reads), ("writes", consumer_writes)):
        for form, order, queue in product(forms, ORDERS, QUEUES):
            name = f"consumer {does}: stream={form}, its queue {order}, work on {queue}"
            yield name, partial(row, setup, form, order, queue)
    for (way, taken), queue in product(IMPORTS.items(), QUEUES):
        yield f"import: {way}, work on {queue}", partial(import_row, setup, taken, queue)


def exported(
    setup: Setup, tensor: sx.Tensor, form: str, order: str, event: dpctl.SyclEvent
) -> tuple[dpctl.SyclQueue, Any, list[dpctl.SyclEvent]]:
    """Export a tensor; return the consumer's queue, the capsule, and for what it has to wait."""
    consumer = setup.queue(order)
    stream = (WITHOUT_QUEUE | FORMS)[form](consumer)
    capsule = tensor.__dlpack__(stream=stream, max_version=(1, 0))
    return consumer, capsule, [event] if form == "-1" else []  # -1: it orders the work itself


def consumer_reads(setup: Setup, form: str, order: str, queue: str) -> str:
    """Let a consumer read, on its queue, memory into which our work will write."""
    samples = Samples()
    for name, kind, old, new in setup.tries():
        tensor, source = setup.tensor(kind, old, queue), setup.tensor(kind, new)
        memory, filler = memory_of(tensor), memory_of(source)
        landing = dpctl.memory.MemoryUSMHost(old.nbytes, queue=setup.queue(order))
        event = setup.late.submit(tensor.sycl_queue, memory, filler)
        pending = is_pending(event)
        consumer, capsule, before = exported(setup, tensor, form, order, event)
        consumer.memcpy_async(landing, memory, old.nbytes, before).wait()
        event.wait()
        del capsule
        samples.add(
            name, difference(as_numbers(landing), new, from_before_the_work=old), pending=pending
        )
    return samples.result()


def consumer_writes(setup: Setup, form: str, order: str, queue: str) -> str:
    """Let a consumer write, on its queue, to memory from which our work will read."""
    samples = Samples()
    for name, kind, old, new in setup.tries():
        tensor, target = setup.tensor(kind, new, queue), setup.tensor(kind, old)
        other = numbers(OTHER, old.nbytes)
        source = setup.tensor(kind, other)
        memory, landing, theirs = memory_of(tensor), memory_of(target), memory_of(source)
        event = setup.late.submit(tensor.sycl_queue, landing, memory)
        pending = is_pending(event)
        consumer, capsule, before = exported(setup, tensor, form, order, event)
        consumer.memcpy_async(memory, theirs, old.nbytes, before).wait()
        event.wait()
        del capsule
        problem = difference(as_numbers(landing), new, those_that_were_written_too_early=other)
        problem = problem or difference(as_numbers(memory), other, from_before_the_write=new)
        samples.add(name, problem, pending=pending)
    return samples.result()


# ---- imports -------------------------------------------------------------------------------------


class Passing:
    """An array of a third party, which hands the stream on that it is asked with."""

    def __init__(self, tensor: sx.Tensor) -> None:
        self._tensor = tensor

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._tensor.__dlpack_device__()

    def __dlpack__(self, **keywords: Any) -> Any:
        return self._tensor.__dlpack__(**keywords)


class Described:
    """An array of a third party that has only the description of its memory."""

    def __init__(self, tensor: sx.Tensor) -> None:
        self._tensor = tensor
        self.__sycl_usm_array_interface__ = tensor.__sycl_usm_array_interface__


#: name -> a tensor of ours over the memory of a producer
IMPORTS: dict[str, Callable[[sx.Tensor], sx.Tensor]] = {
    "from_dlpack(an object with __dlpack__)": lambda t: sx.from_dlpack(Passing(t)),
    "from_dlpack(a capsule)": lambda t: sx.from_dlpack(t.__dlpack__()),
    "as_tensor(an object with __sycl_usm_array_interface__)": lambda t: sx.as_tensor(Described(t)),
    "as_tensor(memory of dpctl)": lambda t: sx.as_tensor(memory_of(t)),
}


def import_row(setup: Setup, taken: Callable[[sx.Tensor], sx.Tensor], queue: str) -> str:
    """Import memory into which the work of a producer will write, and read it."""
    samples = Samples()
    for name, kind, old, new in setup.tries():
        tensor, source = setup.tensor(kind, old, queue), setup.tensor(kind, new)
        memories = memory_of(tensor), memory_of(source)
        event = setup.late.submit(tensor.sycl_queue, *memories)
        pending = is_pending(event)
        elements: Numbers = as_numbers(taken(tensor).to_numpy(copy=True))
        event.wait()
        samples.add(name, difference(elements, new, from_before_the_work=old), pending=pending)
    return samples.result()
