# SPDX-License-Identifier: Apache-2.0
"""The NUMA node and the nearest CPUs of a PCI device, as Linux reports them.

See https://docs.kernel.org/admin-guide/abi-testing.html for the files that are read.
"""

from __future__ import annotations

from pathlib import Path

#: One folder for each device, named by its address.
DEVICES = Path("/sys/bus/pci/devices")


def numa_node(address: str | None) -> int | None:
    """Return the NUMA node of the device at a PCI address; None: not known, or the only one."""
    text = _read(address, "numa_node")
    return int(text) if text.isdecimal() else None  # "-1": the device has no node


def local_cpus(address: str | None) -> tuple[int, ...] | None:
    """Return the processors on the node of the device, in order; None: unknown."""
    return read_cpu_list(_read(address, "local_cpulist")) or None


def read_cpu_list(text: str) -> tuple[int, ...]:
    """Read a list of processors in the form of Linux.

    >>> read_cpu_list("0-2,8")
    (0, 1, 2, 8)
    """
    ranges = [bounds.partition("-")[::2] for bounds in text.split(",") if bounds]
    return tuple(cpu for first, last in ranges for cpu in range(int(first), int(last or first) + 1))


def _read(address: str | None, name: str) -> str:
    if address is None:
        return ""
    try:
        return (DEVICES / address / name).read_text().strip()
    except OSError:  # another system than Linux, or a container without this folder
        return ""
