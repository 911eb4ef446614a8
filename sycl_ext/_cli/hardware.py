# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_ext doctor --hardware``: examine one device for minutes, and write a report."""

import argparse
import json
import sys
import time
from functools import partial
from pathlib import Path

from sycl_ext._doctor.machine import Machine
from sycl_ext._hardware import report as hardware
from sycl_ext._hardware.page import as_page, summary
from sycl_ext._hardware.table import KERNELS, PARTS

#: The names of the parts of the report.
NAMES = [part.name for part in PARTS]
#: The names of the files that are written.
JSON, PAGE = "hardware.json", "hardware.md"
#: How long the whole report takes at most.
SECONDS = 600


def add_to(parser: argparse.ArgumentParser) -> None:
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
        help=f"only this part; repeat the option for more parts: {', '.join(NAMES)}",
    )
    group.add_argument(
        "--output",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="the folder of both files (default: here)",
    )


def run(machine: Machine, options: argparse.Namespace) -> int:
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
    parts = [part for part in PARTS if part is KERNELS or part.name in (options.part or NAMES)]
    how = {"quick": options.quick, "deadline": begin + SECONDS, "say": say}
    report = hardware.examine(machine, device, parts, **how)
    text = json.dumps(report, indent=1)
    data.write_text(f"{text}\n")
    page.write_text(as_page(report))
    print(text if options.json else f"{summary(report)}\nwritten: {page} and {data}")
    return int(not report["ok"])


def writable(folder: Path, name: str) -> Path:
    """Create a file in a folder, and return it; raise OSError if it cannot be written."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.touch()
    return path
