# SPDX-License-Identifier: Apache-2.0
"""Runs `probe` in a process of its own, and after a crash again, without the step that crashed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sycl_ext._setup import child

#: The name of the step in which a process died that had done everything.
AT_EXIT = "exit"


@dataclass
class Probed:
    """The record of each step that ended, by name and in order, and the lines on stderr."""

    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    stderr: list[str] = field(default_factory=list)


def run_probe(order: Mapping[str, Any], environment: Mapping[str, str], timeout: float) -> Probed:
    """Run `probe`, and after each death again without the step in which it died."""
    source = Path(__file__).with_name("probe.py").read_text()
    probed = Probed()
    skip: list[str] = []

    def command(report: Path) -> list[str]:
        return child.command(source, json.dumps({**order, "skip": skip}), str(report))

    while True:
        ended = child.run_reporting(command, environment, timeout)
        done = [record for record in ended.records if "step" in record]
        for record in done:  # of a step that is repeated, the first record counts
            probed.records.setdefault(record["step"], record)
        probed.stderr += ended.stderr
        if not ended.death:
            return probed
        is_over = not ended.records or ended.records[-1] in done
        died_in = AT_EXIT if is_over else ended.records[-1]["begin"]
        crash = {"outcome": "crashed", "detail": ended.cause, "devices": [], "libraries": []}
        probed.records.setdefault(died_in, crash)
        if is_over:
            return probed
        # An import has to be made again, for the steps that follow it; a test need not run again.
        names = (record["step"] for record in done)
        skip += [died_in, *(name for name in names if name.startswith(("device ", "load ")))]
