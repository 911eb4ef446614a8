# SPDX-License-Identifier: Apache-2.0
"""``python -m sycl_ext doctor``: examine a machine, and print the report."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sycl_ext._doctor.checks import Finding, examine
from sycl_ext._doctor.machine import Machine
from sycl_ext._doctor.report import as_json, as_text

if TYPE_CHECKING:
    _SubParsers = argparse._SubParsersAction[argparse.ArgumentParser]

DESCRIPTION = (
    "Look at the SYCL runtime, its drivers, the devices and the environment, test each device in "
    "a process of its own, and name a command that fixes each problem. The exit code is 1 "
    "if there is a problem, otherwise 0."
)


def add_to(subparsers: _SubParsers) -> None:
    """Add the command to the command line."""
    parser = subparsers.add_parser(
        "doctor",
        help="find out why there is no device, or why one does not work, and how to fix it",
        description=DESCRIPTION,
    )
    parser.add_argument("--json", action="store_true", help="a report for programs")
    parser.add_argument("--strict", action="store_true", help="exit code 1 also for warnings")
    parser.add_argument(
        "--quick", action="store_true", help="leave dpnp and torch out: their imports take a while"
    )
    parser.add_argument(
        "--full",
        action="store_true",
        help="also test sub-devices, and memory that another process opens",
    )
    parser.add_argument(
        "--root",
        type=Path,
        default=Path("/"),
        metavar="DIR",
        help="where dev and sys are, which show GPUs (default: %(default)s)",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=120,
        metavar="SECONDS",
        help="how long a test process may take (default: %(default)s)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Examine this machine, print the report, and return the exit code."""
    machine = Machine(options.root, options.timeout, quick=options.quick, full=options.full)
    findings = examine(machine)
    print((as_json if options.json else as_text)(machine, findings))
    return exit_code(findings, strict=options.strict)


def exit_code(findings: Sequence[Finding], *, strict: bool) -> int:
    """Return 1 for a problem; with `strict` also for a warning."""
    return int(any(strict or finding.severity == "problem" for finding in findings))
