# SPDX-License-Identifier: Apache-2.0
"""Portable descriptions of devices for other processes, and their interpretation. Pure.

Ids and contexts have a meaning only in one process, and numbers only under one set of environment
variables. So a description has the UUIDs of the device and of its root device, and for drivers
without UUIDs the name of the root device (backend, type, number), and the partitions that lead to a
sub-device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

#: One step from a device to a sub-device: the partition (`Device.partition`) and the number in it.
PartitionStep = tuple[str, int]

#: The step from a root device to the composite device that it is a component of.
TO_COMPOSITE: PartitionStep = ("composite", 0)

#: Limits for a description from another process; no real device reaches them.
_MAX_STEPS, _MAX_NUMBER = 8, 4096
DOMAINS = ("numa", "L4_cache", "L3_cache", "L2_cache", "L1_cache", "next_partitionable", "cslice")


class PortableDevice(NamedTuple):
    """A device of any process: ``("level_zero", "gpu", 1, (("numa", 0),), b"...", b"...")``."""

    backend: str
    device_type: str
    number: int
    path: tuple[PartitionStep, ...] = ()
    root_uuid: bytes = b""  # empty: the driver reports none
    uuid: bytes = b""  # of a sub-device empty as well if it is not the same in every process

    @classmethod
    def of(
        cls,
        filter_string: str,
        path: Sequence[PartitionStep] = (),
        root_uuid: bytes = b"",
        uuid: bytes = b"",
    ) -> PortableDevice:
        """Return the description of a sub-device of the root device of a filter string."""
        backend, device_type, number = filter_string.split(":")
        return cls(backend, device_type, int(number), tuple(path), root_uuid, uuid)

    def __str__(self) -> str:
        """Return a text for errors: ``"uuid:... (level_zero:gpu:1, numa number 0)"``."""
        name = f"{self.backend}:{self.device_type}:{self.number}"
        steps = [f", {partition} number {number}" for partition, number in self.path]
        if self.uuid:
            return f"uuid:{UUID(bytes=self.uuid)} ({''.join((name, *steps))} where it was sent)"
        return "".join((name, *steps))


def read_portable(value: Any) -> PortableDevice:
    """Read a description from another process; ValueError if it is not valid."""
    fine = type(value) is tuple and [type(field) for field in value] == _TYPES
    if fine:
        device = PortableDevice(*value)
        fine = 0 <= device.number < _MAX_NUMBER and len(device.path) <= _MAX_STEPS
        fine = fine and all(_is_step(step) for step in device.path)
        fine = fine and all(len(uuid) in (0, 16) for uuid in (device.root_uuid, device.uuid))
    if not fine:
        raise ValueError(f"{value!r} does not describe a device; it must have the form {_EXAMPLE}")
    return device


_TYPES = [str, str, int, tuple, bytes, bytes]
_EXAMPLE = tuple(PortableDevice("level_zero", "gpu", 1, (("numa", 0),)))


def _is_step(step: Any) -> bool:
    return step == TO_COMPOSITE or (
        type(step) is tuple
        and [type(field) for field in step] == [str, int]
        and 0 <= step[1] < _MAX_NUMBER
        and read_partition(step[0]) is not None
    )


def read_partition(text: str) -> str | int | list[int] | None:
    """Return ``partition=`` for "numa", "equally 4" or "counts 1 3"; None for another text."""
    if text in DOMAINS:
        return text
    how, *numbers = text.split(" ")[: _MAX_NUMBER + 1]
    if not all(number.isascii() and number.isdigit() and len(number) < 6 for number in numbers):
        return None
    counts = [int(number) for number in numbers]
    if how == "equally" and len(counts) == 1:
        return counts[0]
    return counts if how == "counts" and counts else None


def choose(wanted: PortableDevice, roots: Sequence[str]) -> int | None:
    """Return the number of the filter string whose device is most similar to the wanted one.

    It has the same type, if possible the same backend, and the nearest number. None: no device has
    that type.

    Examples
    --------
    >>> here = ["opencl:cpu:0", "opencl:gpu:0", "level_zero:gpu:0", "level_zero:gpu:1"]
    >>> choose(PortableDevice("level_zero", "gpu", 5), here)
    3
    >>> choose(PortableDevice("cuda", "gpu", 0), here)
    1
    """
    candidates = [PortableDevice.of(text) for text in roots]
    fitting = [i for i, root in enumerate(candidates) if root.device_type == wanted.device_type]
    return min(fitting, key=lambda i: distance(wanted, candidates[i]), default=None)


def distance(wanted: PortableDevice, candidate: PortableDevice) -> tuple[bool, int]:
    """Return how different two devices are that are both possible: by backend, then by number."""
    return candidate.backend != wanted.backend, abs(candidate.number - wanted.number)
