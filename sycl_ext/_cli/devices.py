# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_ext devices``: the device table."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import sycl_ext as sx
from sycl_ext._doctor.report import table, wrap
from sycl_ext._setup import icd
from sycl_ext._setup.hierarchy import explain_hierarchy
from sycl_ext._setup.icd import INSTALL_CPU

NO_DEVICE = f"""\
There is no SYCL device.
  a CPU:        {INSTALL_CPU}
  an Intel GPU: install its driver (libze-intel-gpu1 or intel-opencl-icd)
  -> python -m sycl_ext doctor  names the problem and the command that fixes it"""

#: The facts that have the names of a device's attributes.
FACTS = (
    *("id", "kind", "filter_string", "backend", "device_type", "driver_version", "uuid"),
    *("pci_address", "usm_types", "has_fp64"),
    *("total_memory", "free_memory", "numa_node", "local_cpus"),
)

#: The columns of the tables for people, which fit a terminal of 100 columns.  A device has a row in
#: each; a longer name is cut off there, and complete with ``--json``.
TABLES = (
    ("id", "kind", "device", "backend", "name"),
    ("id", "USM", "host reaches", "fp64", "driver"),
    ("id", "memory", "free", "PCI address", "NUMA node", "UUID"),
)
LONGEST_NAME = 50


def add_to(subparsers: Any) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser(
        "devices",
        help="print the device table: the device of each DLPack device id",
        description="Print the device table: the device of each DLPack device (14, id).",
    )
    parser.add_argument("--json", action="store_true", help="print them as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the table, and the settings of the environment that change it."""
    devices = [facts_of(device) for device in sx.devices()]
    lines = environment_lines(os.environ, has_devices=bool(devices))
    if options.json:
        print(json.dumps({"devices": devices, "environment": lines}, indent=2))
        return 0 if devices else 1
    print("\n\n".join(tables(devices)) if devices else NO_DEVICE)
    print("\nsettings that decide the ids:", *(wrap(line, "- ") for line in lines), sep="\n")
    return 0 if devices else 1


def facts_of(device: sx.Device) -> dict[str, Any]:
    """Describe one device for programs."""
    parent = device.parent
    return {
        **{name: getattr(device, name) for name in FACTS},
        "name": device.name.strip(),
        "parent": None if parent is None else parent.id,
        "root": device.root_id,
        "host_accessible": [k for k in device.usm_types if device.host_accessible(k)],
    }


def tables(devices: Sequence[dict[str, Any]]) -> list[str]:
    """Describe the devices for people, in tables of at most 100 columns of text."""
    rows = [row(facts) for facts in devices]
    return [
        table(names, *([row[name] for name in names] for row in rows), right=1) for names in TABLES
    ]


def row(facts: dict[str, Any]) -> dict[str, str]:
    """Describe one device for people, by the columns of the tables."""
    name = facts["name"]
    kinds, reached = list(facts["usm_types"]), facts["host_accessible"]
    return {
        "id": str(facts["id"]),
        "kind": facts["kind"],
        "device": facts["filter_string"] if facts["parent"] is None else f"of {facts['parent']}",
        "name": name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…",
        "backend": facts["backend"],
        "driver": facts["driver_version"],
        "USM": " ".join(kinds) or "none",
        "host reaches": "all of it" if reached and reached == kinds else " ".join(reached) or "-",
        "fp64": "yes" if facts["has_fp64"] else "no",
        "memory": gibibytes(facts["total_memory"]),
        "free": "-" if facts["free_memory"] is None else gibibytes(facts["free_memory"]),
        "PCI address": facts["pci_address"] or "-",
        "NUMA node": "-" if facts["numa_node"] is None else str(facts["numa_node"]),
        "UUID": facts["uuid"] or "-",
    }


def gibibytes(nbytes: int) -> str:
    """Write a number of bytes for people, such as ``"63.9 GiB"``."""
    return f"{nbytes / 2**30:.1f} GiB"


def environment_lines(environment: Mapping[str, str], *, has_devices: bool = False) -> list[str]:
    """Describe how the environment changes the list of devices."""
    lines = explain_hierarchy(environment, has_devices=has_devices)
    drivers = environment.get("OCL_ICD_FILENAMES")
    if drivers and drivers == icd.embedded_driver():
        lines.append(
            f"OCL_ICD_FILENAMES={drivers} is the CPU device of this Python environment; sycl_ext "
            "sets it if the environment names no driver (SYCL_EXT_NO_ICD=1 stops that)"
        )
    elif drivers:
        lines.append(f"OCL_ICD_FILENAMES={drivers} names the OpenCL drivers; each adds its devices")
    return lines + [
        f"{file} names an OpenCL driver ({driver}), which adds its devices"
        for driver, file in icd.named_in_files(environment)
    ]
