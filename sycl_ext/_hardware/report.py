# SPDX-License-Identifier: Apache-2.0
"""The report as JSON: the machine, the device, and the rows of each part, with their verdicts."""

import datetime
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sycl_ext._doctor.machine import DeviceFacts, Machine
from sycl_ext._hardware.processes import run_part
from sycl_ext._hardware.table import BAD, KERNELS, Part

#: The version of the JSON report.
SCHEMA = 1


def choose(devices: Sequence[DeviceFacts], asked: str | None) -> DeviceFacts:
    """Return the device that is asked for, by id or filter string; else the first GPU with USM."""
    if asked is None:
        order = sorted(
            devices, key=lambda device: (not device.usm_types, device.device_type != "gpu")
        )
        if order:
            return order[0]
    for device in devices:
        if asked in (str(device.id), device.filter_string):
            return device
    names = ", ".join(f"{device.id} ({device.filter_string})" for device in devices)
    raise ValueError(
        f"there is no device {asked!r}; --device takes one of {names}"
        if names
        else "there is no SYCL device; python -m sycl_ext doctor says why"
    )


def examine(
    machine: Machine,
    device: DeviceFacts,
    parts: Sequence[Part],
    *,
    quick: bool,
    deadline: float,
    say: Callable[[str], object] = lambda _text: None,
) -> dict[str, Any]:
    """Examine a device, part by part until a time of `time.monotonic`, and return the report."""
    begin = time.monotonic()
    order = {"device": device.filter_string, "quick": quick, "kernels": False}
    results = []
    for number, part in enumerate(parts, 1):
        say(f"{number} of {len(parts)}: {part.name}")
        result = examine_part(part, order, machine.timeout, deadline)
        results.append(result)
        if part is KERNELS:
            order["kernels"] = all(row["verdict"] == "held" for row in result["rows"])
    return {
        "schema": SCHEMA,
        "ok": not any(row["verdict"] in BAD for part in results for row in part["rows"]),
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "seconds": round(time.monotonic() - begin, 1),
        "quick": quick,
        "work": "kernels" if order["kernels"] else "long copies",
        "device": asdict(device),
        "other_devices": [asdict(other) for other in machine.devices if other != device],
        "machine": facts_of(machine),
        "parts": results,
    }


def examine_part(
    part: Part, order: Mapping[str, Any], limit: float, deadline: float
) -> dict[str, Any]:
    """Run a part, and return its rows with its question."""
    begin = time.monotonic()
    rows = run_part({**order, "module": part.module}, limit, deadline)
    return {
        "name": part.name,
        "question": part.question,
        "seconds": round(time.monotonic() - begin, 1),
        "rows": rows,
    }


def facts_of(machine: Machine) -> dict[str, Any]:
    """Return the versions and the settings that matter, without names of users."""
    return {
        "python": machine.python,
        "platform": machine.platform,
        "processors": os.cpu_count(),
        "in_container": machine.in_container,
        "packages": dict(machine.packages),
        "environment": dict(machine.environment),
        "gpus": [asdict(gpu) for gpu in machine.gpus],
    }
