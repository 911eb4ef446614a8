# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_ext doctor``: examine a machine, and print the report; or a device at length."""

import argparse
import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from sycl_ext._doctor.checks import examine
from sycl_ext._doctor.machine import Machine
from sycl_ext._doctor.report import as_json, as_text
from sycl_ext._hardware import report as hardware
from sycl_ext._hardware.page import as_page, summary
from sycl_ext._hardware.table import KERNELS, PARTS

#: The options without a value.
FLAGS = {
    "--json": "a report for programs",
    "--strict": "exit code 1 also for warnings",
    "--quick": "leave dpnp and torch out: their imports take a while; with --hardware: small sizes",
}
#: And those of which one can be given.
KINDS = {
    "--full": "also test sub-devices, and memory that another process opens",
    "--hardware": "examine one device for minutes, and write hardware.json and hardware.md, a "
    "report to be passed on",
}
#: The names of the parts of --hardware.
NAMES = [part.name for part in PARTS]
#: The names of the files that --hardware writes.
JSON, PAGE = "hardware.json", "hardware.md"
#: So long --hardware takes at most.
SECONDS = 600


def add_to(subparsers: Any) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser(
        "doctor",
        help="find out why there is no device, or why one does not work, and how to fix it",
        description="Look at the SYCL runtime, its drivers, the devices and the environment, test "
        "each device in a process of its own, and name a command that fixes each problem. The exit "
        "code is 1 if there is a problem, otherwise 0.",
    )
    for name, text in FLAGS.items():
        parser.add_argument(name, action="store_true", help=text)
    kinds = parser.add_mutually_exclusive_group()
    for name, text in KINDS.items():
        kinds.add_argument(name, action="store_true", help=text)
    parser.add_argument(
        "--root", type=Path, default="/", metavar="DIR", help="where dev and sys are (default: /)"
    )
    parser.add_argument(
        "--timeout", type=float, default=120, metavar="SECONDS", help="of a process (default: 120)"
    )
    add_hardware_to(parser)
    parser.set_defaults(run=run)


def add_hardware_to(parser: argparse.ArgumentParser) -> None:
    """Add the options of --hardware."""
    group = parser.add_argument_group("options of --hardware")
    group.add_argument(
        "--device", metavar="DEVICE", help="an id or a filter string (default: a GPU)"
    )
    group.add_argument(
        "--part",
        action="append",
        choices=NAMES,
        metavar="PART",
        help=f"only this part, and others if it is given again: {', '.join(NAMES)}",
    )
    group.add_argument(
        "--output", type=Path, default=Path(), metavar="DIR", help="of both files (default: here)"
    )


def run(options: argparse.Namespace) -> int:
    """Examine this machine, print the report, and return the exit code."""
    machine = Machine(options.root, options.timeout, quick=options.quick, full=options.full)
    if options.hardware:
        return run_hardware(machine, options)
    findings = examine(machine)
    print((as_json if options.json else as_text)(machine, findings))
    return int(any(options.strict or finding.severity == "problem" for finding in findings))


def run_hardware(machine: Machine, options: argparse.Namespace) -> int:
    """Examine a device, write the report, and return the exit code."""
    begin = time.monotonic()
    try:
        device = hardware.choose(machine.devices, options.device)
        page, data = (writable(options.output, name) for name in (PAGE, JSON))
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    say = partial(print, file=sys.stderr, flush=True)
    say(f"{device.name} ({device.filter_string}); at most {SECONDS // 60} minutes")
    parts = [one for one in PARTS if one is KERNELS or one.name in (options.part or NAMES)]
    how = {"quick": options.quick, "deadline": begin + SECONDS, "say": say}
    report = hardware.examine(machine, device, parts, **how)
    text = json.dumps(report, indent=1)
    data.write_text(f"{text}\n")
    page.write_text(as_page(report))
    print(text if options.json else f"{summary(report)}\nwritten: {page} and {data}")
    return int(not report["ok"])


def writable(folder: Path, name: str) -> Path:
    """Return a file of a folder, which is made; raise OSError now if it cannot be written."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.touch()
    return path
