# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_ext doctor``: examines this machine and prints the report."""

import argparse
import math
from pathlib import Path
from typing import Any

from sycl_ext._doctor.checks import examine
from sycl_ext._doctor.machine import Machine
from sycl_ext._doctor.report import HARDWARE, as_json, as_text

#: The options without a value.
FLAGS = {
    "--json": "print a report for programs",
    "--strict": "exit code 1 also for warnings",
    "--quick": "skip dpnp and torch, whose imports take seconds",
    "--full": "also test sub-devices, and memory that another process opens",
}


def add_to(subparsers: Any) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser(
        "doctor",
        help="find out why there is no device, or why one does not work, and how to fix it",
        description="Look at the SYCL runtime, its drivers, the devices and the environment, test "
        "each device in a process of its own, and name a command that fixes each problem. The exit "
        "code is 1 if there is a problem, otherwise 0.",
        epilog=HARDWARE,
    )
    for name, text in FLAGS.items():
        parser.add_argument(name, action="store_true", help=text)
    parser.add_argument(
        "--root",
        type=Path,
        default="/",
        metavar="DIR",
        help="look for dev, proc and sys there (default: /)",
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=120,
        metavar="SECONDS",
        help="how long a test process may take (default: 120)",
    )
    parser.set_defaults(run=run)


def seconds(text: str) -> float:
    value = float(text)
    if not 1 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds of at least 1")
    return value


def run(options: argparse.Namespace) -> int:
    """Examine this machine, print the report, and return the exit code."""
    machine = Machine(options.root, options.timeout, quick=options.quick, full=options.full)
    findings = examine(machine)
    print((as_json if options.json else as_text)(machine, findings))
    return int(any(options.strict or finding.severity == "problem" for finding in findings))
