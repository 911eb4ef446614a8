# SPDX-License-Identifier: Apache-2.0
"""Copies to other cards, and to sub-devices, which are the tiles of an Intel GPU."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import sycl_ext as sx
from sycl_ext_hardware.late import is_pending, memory_of
from sycl_ext_hardware.samples import Cannot, Row, Samples, as_numbers, difference, expect, numbers
from sycl_ext_hardware.setup import NEW, OLD, Setup

NBYTES = 1 << 20
#: How a device is partitioned: by the first of these that it supports.
PARTITIONS: dict[str, Any] = {
    "tiles": "next_partitionable",
    "sub-devices of one compute unit": [1, 1],
}


def rows(setup: Setup) -> Iterator[Row]:
    """Yield the rows of this part."""
    for other in sx.devices():
        if other.kind == "root" and other is not setup.device and other.usm_types:
            name = f"{other.filter_string} {other.name.strip()}"
            yield f"to {name}, and back", partial(there_and_back, setup, other)
            yield f"to {name}, with work pending", partial(pending_row, setup, other)
    yield "another card", lambda: another_card(setup)
    yield "sub-devices, and back", lambda: sub_devices(setup)
    yield "sub-devices, with work pending", lambda: sub_devices_pending(setup)


def another_card(setup: Setup) -> str:
    """Count the other cards of this backend."""
    mine = setup.device
    others = [
        device.filter_string
        for device in sx.devices()
        if device.kind == "root" and device is not mine and device.backend == mine.backend
    ]
    if not others:
        raise Cannot(f"it is the only device of {mine.backend}")
    return ", ".join(others)


def there_and_back(setup: Setup, other: sx.Device) -> str:
    """Copy to another device and back, and say how."""
    data = numbers(NEW, NBYTES)
    for kind in setup.kinds:
        tensor = setup.tensor(kind, data)
        moved = tensor.to_device(other, copy=True)
        expect(moved.to_numpy(copy=True), data, f"{kind} USM, there")
        back = moved.to_device(setup.device, copy=True)
        expect(back.to_numpy(copy=True), data, f"{kind} USM, back")
    return str(sx.explain(setup.tensor(setup.kinds[0], data), other, copy=True))


def pending_row(setup: Setup, other: sx.Device) -> str:
    """Copy to another device while work writes to the source."""
    samples = Samples()
    for name, kind, old, new in setup.tries():
        tensor, source = setup.tensor(kind, old), setup.tensor(kind, new)
        event = setup.late.submit(tensor.sycl_queue, memory_of(tensor), memory_of(source))
        pending = is_pending(event)
        elements = as_numbers(tensor.to_device(other, copy=True).to_numpy(copy=True))
        event.wait()
        samples.add(name, difference(elements, new, from_before_the_work=old), pending=pending)
    return samples.result()


def partitioned(setup: Setup) -> tuple[str, tuple[sx.Device, ...]]:
    """Return the name of a partition of the device, and the sub-devices."""
    refused = ""
    for what, partition in PARTITIONS.items():
        try:
            return what, setup.device.create_sub_devices(partition)
        except (sx.SyclError, BufferError, ValueError) as error:
            refused = str(error)
    raise Cannot(f"it cannot be partitioned: {refused}")


def for_each(setup: Setup, function: Callable[[Setup, sx.Device], str]) -> str:
    """Call a function with each sub-device."""
    what, devices = partitioned(setup)
    details = [function(setup, sub_device) for sub_device in devices]
    return f"{len(devices)} {what}: {details[0]}"


def sub_devices(setup: Setup) -> str:
    """Copy to each sub-device and back, and between two of them."""
    devices = partitioned(setup)[1]
    data = numbers(OLD, NBYTES)
    first, last = (
        sx.as_tensor(data, device=device, copy=True) for device in (devices[0], devices[-1])
    )
    last.copy_from(numbers(NEW, NBYTES))
    first.copy_from(last)
    expect(first.to_numpy(copy=True), numbers(NEW, NBYTES), "from one sub-device to another")
    return for_each(setup, there_and_back)


def sub_devices_pending(setup: Setup) -> str:
    """Copy to each sub-device while work writes to the source."""
    return for_each(setup, pending_row)
