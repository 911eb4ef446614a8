# SPDX-License-Identifier: Apache-2.0
"""The device of a report, in the process of a part: its queues, its memory, its pending work."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import dpctl

import sycl_ext as sx
from sycl_ext_hardware.late import LateKernel, LateMemcpy
from sycl_ext_hardware.samples import Cannot, Numbers, numbers

UsmType = Literal["device", "shared", "host"]
#: The kinds of USM that tensors are allocated in.
ALLOCATED: tuple[UsmType, ...] = get_args(UsmType)
#: The elements before the work, those that the work writes, and those of another owner.
OLD, NEW, OTHER = 1, 2, 3
#: The queues of a tensor: that of its device, which all libraries share, or one of its own.
QUEUES = ("the device's queue", "an in-order queue", "an out-of-order queue")
#: Queues of a consumer.
ORDERS = ("in-order", "out-of-order")


#: Libraries whose import takes a while, which --quick leaves out.
LIBRARIES = ("dpnp", "PyTorch")


@dataclass(frozen=True)
class Size:
    """How many tries a report makes, and with how much memory."""

    nbytes: tuple[int, ...]  # of the memory of a try
    repeats: int  # tries with each size and each kind of memory
    milliseconds: float  # that work stays pending
    long_copy: int  # bytes of the copies that pending work waits for, without kernels
    bandwidth: tuple[int, ...]  # bytes of the copies whose speed is measured


FULL = Size((4096, 2 << 20), 2, 20, 64 << 20, (64 << 10, 1 << 20, 16 << 20, 256 << 20))
QUICK = Size((4096,), 1, 3, 4 << 20, (64 << 10, 1 << 20))


@dataclass
class Setup:
    """A device, and what the rows of a part do with it."""

    device: sx.Device
    quick: bool
    kernels: bool  # whether the device runs kernels
    longer: int = 1  # how much longer than usual work stays pending

    @property
    def size(self) -> Size:
        """Return the size of this report."""
        return QUICK if self.quick else FULL

    @cached_property
    def kinds(self) -> tuple[UsmType, ...]:
        """The kinds of USM that the device allocates."""
        return tuple(kind for kind in ALLOCATED if kind in self.device.usm_types)

    def lengthen(self) -> None:
        """Let work stay pending four times as long as before."""
        self.longer *= 4
        vars(self).pop("late", None)

    @cached_property
    def late(self) -> LateKernel | LateMemcpy:
        """Copies that stay pending for a while."""
        size, milliseconds = self.size, self.longer * self.size.milliseconds
        if self.kernels:
            return LateKernel(self.device.sycl_queue, milliseconds)
        if "device" not in self.kinds or "host" not in self.kinds:
            raise Cannot("it runs no kernels, and has no memory for long copies")
        return LateMemcpy(self.device, milliseconds, size.long_copy)

    @cached_property
    def _queues(self) -> dict[str, dpctl.SyclQueue]:
        return {QUEUES[0]: self.device.sycl_queue} | {
            name: self.new_queue(name) for name in (*QUEUES[1:], *ORDERS)
        }

    def queue(self, name: str) -> dpctl.SyclQueue:
        """Return the queue of this name in `QUEUES`, or that of a consumer in `ORDERS`."""
        return self._queues[name]

    def new_queue(self, name: str) -> dpctl.SyclQueue:
        """Return a new queue in the default context of the device."""
        properties = ["in_order"] if "in-order" in name else []
        device = self.device
        return dpctl.SyclQueue(device.sycl_context, device.sycl_device, property=properties)

    def tensor(self, kind: UsmType, data: Numbers, queue: str = QUEUES[0]) -> sx.Tensor:
        """Return a tensor with these elements, and nothing pending."""
        where = self.device if queue == QUEUES[0] else self.queue(queue)
        tensor = sx.empty(data.size, "int64", usm_type=kind, device=where)
        tensor.copy_from(data)
        tensor.wait()
        return tensor

    def without_libraries(self, names: Iterable[str]) -> list[str]:
        """Return the names, in a small report without those that are about a library."""
        return [name for name in names if not (self.quick and name.endswith(LIBRARIES))]

    def tries(self) -> Iterator[tuple[str, UsmType, Numbers, Numbers]]:
        """Yield a name, a kind of memory, and old and new elements, for each try of a row."""
        for kind in self.kinds:
            for nbytes in self.size.nbytes:
                for _ in range(self.size.repeats):
                    name = f"{kind} USM of {sized(nbytes)}"
                    yield name, kind, numbers(OLD, nbytes), numbers(NEW, nbytes)


def sized(nbytes: int) -> str:
    """Return a number of bytes in the largest unit that divides it."""
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if nbytes % unit == 0:
            return f"{nbytes // unit} {name}"
    return f"{nbytes} bytes"
