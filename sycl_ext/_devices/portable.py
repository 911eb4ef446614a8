# SPDX-License-Identifier: Apache-2.0
"""Describes devices for other processes, and finds the device that a description means here."""

from collections.abc import Sequence

from sycl_ext import _core
from sycl_ext._devices import description
from sycl_ext._devices.description import PartitionStep, PortableDevice
from sycl_ext._devices.device import Device, by_id, roots
from sycl_ext._devices.placement import devices_with_uuid, place
from sycl_ext._negotiation.errors import SyclError
from sycl_ext._setup.runtimes import warn_user


def portable(device: Device) -> PortableDevice:
    """Return the description of a device; a private context does not exist in other processes.

    A sub-device that was not created by this package is described by its parent as well.
    """
    path: list[PartitionStep] = []
    described: Device = device
    entry: Device | None = device
    while entry is not None and entry.kind != "root":
        if entry.kind == "sub_device":
            if entry.partition_index is None:
                path.clear()
                described = entry.parent or entry
            else:
                path.append((entry.partition, entry.partition_index))
        elif entry._entry.composite:
            path.append(description.TO_COMPOSITE)
        entry = entry.parent
    root_uuid = _core.entry(device.root_id).uuid
    uuid = described._portable_uuid if path else root_uuid
    return PortableDevice.of(device.filter_string, path[::-1], root_uuid, uuid)


def find(wanted: PortableDevice) -> Device | None:
    """Return a device of another process, if this process has it.

    Numbers of filter strings depend on the environment of a process, so only a device without a
    UUID is found by its number.
    """
    matches = devices_with_uuid(wanted.uuid) if wanted.uuid else []
    if matches:
        return min(matches, key=lambda device: description.distance(wanted, portable(device)))
    if wanted.path:
        root = find(wanted._replace(path=(), uuid=wanted.root_uuid))
        device = None if root is None else sub_device_at(root, wanted.path)
        if device is None:
            return None
        here = portable(device)
        is_same = here.path == wanted.path and wanted.uuid in (b"", here.uuid)
        return device if is_same else None
    if wanted.uuid:
        return None
    name = f"{wanted.backend}:{wanted.device_type}:{wanted.number}"
    return next((root for root in roots() if root.filter_string == name), None)


def nearest(wanted: PortableDevice) -> Device:
    """Return a device of another process, or with a warning the local one most similar to it."""
    if (same := find(wanted)) is not None:
        return same
    number = description.choose(wanted, [root.filter_string for root in roots()])
    device = place(None).device if number is None else sub_device_at(by_id(number), wanted.path)
    if not wanted.device_type == device.device_type == "cpu":  # each machine has one
        warn_user(
            f"the array was on {wanted}, which is not available in this process, so it was moved "
            f"to {device!r}; check ONEAPI_DEVICE_SELECTOR and ZE_AFFINITY_MASK, or choose a device "
            "with sycl_ext.pickling.to_device",
            UserWarning,
        )
    return device


def sub_device_at(device: Device, path: Sequence[PartitionStep]) -> Device:
    """Return the sub-device at the end of a path, or the last one that exists."""
    for step in path:
        if step == description.TO_COMPOSITE:
            composite = by_id(device.root_id)._entry.composite_device
            if composite is None:
                break
            device = by_id(composite.id)
            continue
        partition, index = step
        try:
            device = device.create_sub_devices(description.read_partition(partition) or "")[index]
        except (SyclError, ValueError, IndexError):
            break
    return device
