# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_ext devices``: the device table."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sycl_ext as sx
from sycl_ext._cli.text import CommandError
from sycl_ext._doctor.machine import read, vendor_folders
from sycl_ext._doctor.text import table, wrap
from sycl_ext._setup import icd
from sycl_ext._setup.hierarchy import explain_hierarchy
from sycl_ext._setup.icd import INSTALL_CPU

if TYPE_CHECKING:
    _SubParsers = argparse._SubParsersAction[argparse.ArgumentParser]

NO_DEVICE = f"""\
There is no SYCL device.
  a CPU:        {INSTALL_CPU}
  an Intel GPU: install its driver (libze-intel-gpu1 or intel-opencl-icd)
  -> python -m sycl_ext doctor  names the problem and the command that fixes it"""

HEADER = (
    *("id", "kind", "device", "name", "backend", "driver", "USM", "host reaches", "fp64"),
    *("PCI address", "UUID"),
)


def add_to(subparsers: _SubParsers) -> None:
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
    try:
        devices = sx.devices()
    except sx.SyclError as error:
        raise CommandError(str(error)) from error
    if options.json:
        print(json.dumps(as_json(devices, os.environ), indent=2))
        return 0 if devices else 1
    print(table(HEADER, [row(device) for device in devices], right="id") if devices else NO_DEVICE)
    sentences = [wrap(line, "- ") for line in environment_lines(os.environ)]
    print("\nwhat decides the ids:", *sentences, sep="\n")
    return 0 if devices else 1


def row(device: sx.Device) -> tuple[str, ...]:
    """Describe one device."""
    parent = device.parent
    reached = [kind for kind in device.usm_types if device.host_accessible(kind)]
    return (
        str(device.id),
        device.kind,
        device.filter_string if parent is None else f"of {parent.id}",
        device.name.strip(),
        device.backend,
        device.driver_version,
        " ".join(device.usm_types) or "none",
        "all of it" if reached and reached == list(device.usm_types) else " ".join(reached) or "-",
        "yes" if device.has_fp64 else "no",
        device.pci_address or "-",
        device.uuid or "-",
    )


def as_json(devices: Sequence[sx.Device], environment: Mapping[str, str]) -> dict[str, Any]:
    """Return what `run` prints, for programs."""
    return {
        "devices": [
            {
                "id": device.id,
                "kind": device.kind,
                "parent": None if device.parent is None else device.parent.id,
                "root": device.root_id,
                "filter_string": device.filter_string,
                "name": device.name.strip(),
                "backend": device.backend,
                "device_type": device.device_type,
                "driver_version": device.driver_version,
                "uuid": device.uuid,
                "pci_address": device.pci_address,
                "usm_types": list(device.usm_types),
                "host_accessible": [k for k in device.usm_types if device.host_accessible(k)],
                "has_fp64": device.has_fp64,
            }
            for device in devices
        ],
        "environment": environment_lines(environment),
    }


def environment_lines(environment: Mapping[str, str]) -> list[str]:
    """Describe how the environment changes the list of devices."""
    lines = explain_hierarchy(environment)
    drivers = environment.get("OCL_ICD_FILENAMES")
    if drivers and drivers == icd.embedded_driver():
        lines.append(
            f"OCL_ICD_FILENAMES={drivers} is the CPU device of this Python environment; sycl_ext "
            "sets it if the environment names no driver (SYCL_EXT_NO_ICD=1 stops that)"
        )
    elif drivers:
        lines.append(f"OCL_ICD_FILENAMES={drivers} names the OpenCL drivers; each adds its devices")
    lines += [
        f"{file} names an OpenCL driver ({read(file)}), which adds its devices"
        for folder in vendor_folders(environment)
        for file in sorted(folder.glob("*.icd"))
    ]
    return lines
