# SPDX-License-Identifier: Apache-2.0
"""The report as JSON: the machine, the device, and the rows of each part, with their verdicts."""

import datetime
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sycl_ext_hardware.machine import FACTS, Facts
from sycl_ext_hardware.processes import run_part
from sycl_ext_hardware.table import BAD, KERNELS, Part

#: The version of the JSON report.
SCHEMA = 1


def choose(devices: Sequence[Facts], asked: str | None) -> Facts:
    """Return the device that is asked for, by id or filter string; else the first GPU with USM."""
    if asked is None:
        order = sorted(
            devices, key=lambda device: (not device["usm_types"], device["device_type"] != "gpu")
        )
        if order:
            return order[0]
    for device in devices:
        if asked in (str(device["id"]), device["filter_string"]):
            return device
    names = ", ".join(f"{device['id']} ({device['filter_string']})" for device in devices)
    raise ValueError(
        f"there is no device {asked!r}; --device takes one of {names}"
        if names
        else "there is no SYCL device; python -m sycl_ext doctor says why"
    )


def examine(
    facts: Facts,
    device: Facts,
    parts: Sequence[Part],
    *,
    quick: bool,
    limit: float,
    deadline: float,
    say: Callable[[str], object] = lambda _text: None,
) -> dict[str, Any]:
    """Examine a device, part by part until a time of `time.monotonic`, and return the report.

    `facts` are those of the machine; each part has `limit` seconds.
    """
    begin = time.monotonic()
    order = {"device": device["filter_string"], "quick": quick, "kernels": False}
    results = []
    for number, part in enumerate(parts, 1):
        say(f"{number} of {len(parts)}: {part.name}")
        result = examine_part(part, order, limit, deadline)
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
        "device": device,
        "other_devices": [other for other in facts["devices"] if other != device],
        "machine": {name: facts[name] for name in FACTS} | {"processors": os.cpu_count()},
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
