# SPDX-License-Identifier: Apache-2.0
"""The devices of a machine, and the variables by which a worker sees one of them.

The SYCL runtime reads its environment once. So a process of its own lists the devices, and the
process that starts the workers loads no SYCL runtime.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

HIERARCHY, MASK = "ZE_FLAT_DEVICE_HIERARCHY", "ZE_AFFINITY_MASK"
SELECTOR = "ONEAPI_DEVICE_SELECTOR"

#: One worker per this -> the hierarchy in which it is a root device.
MODES = {"tile": "FLAT", "card": "COMPOSITE"}

#: Devices that get workers, best first. One GPU is listed by Level Zero and by OpenCL.
PREFERRED = (
    ("level_zero", "gpu"),
    ("cuda", "gpu"),
    ("hip", "gpu"),
    ("opencl", "gpu"),
    ("opencl", "cpu"),
)

#: Facts that are the same in each process that sees a device.
IDENTITY = ("backend", "device_type", "name", "uuid", "pci_address", "total_memory")


@dataclass(frozen=True)
class WorkerDevice:
    """A device that has a worker, and the environment of the worker."""

    name: str
    device_type: str
    uuid: str | None
    total_memory: int
    #: Processors next to the device; empty: unknown.
    cpus: tuple[int, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


def worker_devices(per: str = "tile", device_type: str | None = None) -> tuple[WorkerDevice, ...]:
    """Return the devices of this machine that get a worker each.

    Parameters
    ----------
    per : {"tile", "card"}, default "tile"
        One worker per tile, or per card. A card without tiles, and a CPU, is one in both cases.
    device_type : {"gpu", "cpu"}, optional
        Only devices of this type. Without it the GPUs if there are any, or else the CPUs.

    Returns
    -------
    tuple of WorkerDevice
        Devices of one backend, in the order of their ids.

    Raises
    ------
    ValueError
        If there is no such device, or a variable of the environment contradicts `per`.
    """
    environment = listing_environment(per, os.environ)
    seen = list_devices(environment)
    whole = {name: value for name, value in environment.items() if name != SELECTOR}
    everything = seen if whole == environment else list_devices(whole)
    return select(seen, everything, environment, device_type)


def list_devices(environment: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return what ``sycl-ext devices --json`` reports in an environment."""
    done = subprocess.run(
        [sys.executable, "-m", "sycl_ext", "devices", "--json"],
        env=dict(environment),
        capture_output=True,
        text=True,
    )
    try:
        devices: list[dict[str, Any]] = json.loads(done.stdout)["devices"]
    except ValueError:
        raise RuntimeError(
            f"python -m sycl_ext devices --json ended with {done.returncode}: "
            f"{done.stderr.strip()}; python -m sycl_ext doctor names the problem"
        ) from None
    return devices


def listing_environment(per: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which each tile, or each card, is a root device."""
    if per not in MODES:
        raise ValueError(f"one worker per {per!r}: it is one of {', '.join(MODES)}")
    mask, mode = environment.get(MASK), MODES[per]
    now = environment.get(HIERARCHY, "FLAT").upper().replace("COMBINED", "FLAT")
    if mask and now != mode:
        raise ValueError(
            f"{MASK}={mask} is for {HIERARCHY}={now}, and one worker per {per} needs {mode}; unset "
            f"the mask, or set {HIERARCHY}={mode} and a mask for it"
        )
    return {**environment, HIERARCHY: mode}


def select(
    seen: Sequence[Mapping[str, Any]],
    everything: Sequence[Mapping[str, Any]],
    environment: Mapping[str, str],
    device_type: str | None = None,
) -> tuple[WorkerDevice, ...]:
    """Return the devices that get a worker, of those that an environment shows.

    `everything` are the devices without ``ONEAPI_DEVICE_SELECTOR``, whose terms count them.
    """
    wanted = [kind for kind in PREFERRED if device_type in (None, kind[1])]
    kinds = [(device["backend"], device["device_type"]) for device in seen]
    kind = next((kind for kind in wanted if kind in kinds), None)
    if kind is None:
        listed = ", ".join(device["filter_string"] for device in seen) or "none"
        raise ValueError(
            f"no device for a worker: wanted {device_type or 'a GPU or a CPU'}, found {listed}; "
            "python -m sycl_ext doctor says why a device is missing"
        )
    chosen = [device for device, of in zip(seen, kinds, strict=True) if of == kind]
    shown = variables_of(chosen, [d for d in everything if d["backend"] == kind[0]], environment)
    return tuple(
        WorkerDevice(
            name=device["name"],
            device_type=device["device_type"],
            uuid=device["uuid"],
            total_memory=device["total_memory"],
            cpus=tuple(device["local_cpus"] or ()),
            environment=variables,
        )
        for device, variables in zip(chosen, shown, strict=True)
    )


def variables_of(
    chosen: Sequence[Mapping[str, Any]],
    siblings: Sequence[Mapping[str, Any]],
    environment: Mapping[str, str],
) -> list[dict[str, str]]:
    """Return the variables that show each of some devices of one backend, which has `siblings`."""
    numbers = positions(chosen, siblings)
    backend = chosen[0]["backend"]
    if backend == "level_zero":
        masks = split_mask(environment.get(MASK), len(siblings))
        mode, gpus = environment[HIERARCHY], "level_zero:gpu"
        return [{HIERARCHY: mode, MASK: masks[number], SELECTOR: gpus} for number in numbers]
    # A selector that does not name Level Zero keeps its adapter from being loaded, and runtime
    # 2026.2 then lists no device at all.
    return [{SELECTOR: f"{backend}:{n};level_zero:*;!level_zero:gpu"} for n in numbers]


def positions(
    chosen: Sequence[Mapping[str, Any]], everything: Sequence[Mapping[str, Any]]
) -> list[int]:
    """Return the positions of devices in a longer list, which has them in the same order."""
    rest = iter(enumerate(everything))
    numbers = []
    for device in chosen:
        for number, other in rest:
            if all(device[fact] == other[fact] for fact in IDENTITY):
                numbers.append(number)
                break
        else:
            raise ValueError(
                f"{device['filter_string']} ({device['name']}) is not a whole device; set "
                f"{SELECTOR} to a term without a dot, such as {device['backend']}:*"
            )
    return numbers


def split_mask(mask: str | None, count: int) -> list[str]:
    """Return the mask of each of `count` Level Zero devices that a mask leaves.

    The driver lists devices in their own order, whatever the order in the mask is.

    >>> split_mask(None, 2)
    ['0', '1']
    >>> split_mask("3,1", 2)
    ['1', '3']
    >>> split_mask("1,0.1,0.0", 2)
    ['0.0,0.1', '1']
    """
    if not mask:
        return [str(number) for number in range(count)]
    try:
        entries = sorted({tuple(map(int, entry.split("."))) for entry in mask.split(",")})
    except ValueError:
        raise ValueError(f"{MASK}={mask} is not a list such as 0,1 or 0.0,1.1") from None
    cards: dict[int, list[str]] = {}
    for entry in entries:
        cards.setdefault(entry[0], []).append(".".join(map(str, entry)))
    if len(cards) != count:
        raise ValueError(
            f"{MASK}={mask} names {len(cards)} devices, and the driver lists {count}; name only "
            "devices that exist, or unset it"
        )
    return [",".join(tiles) for tiles in cards.values()]
