# SPDX-License-Identifier: Apache-2.0
"""The processes in which `probe` asks devices and drivers, and what comes back from them."""

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from sycl_ext._setup import child

#: How lines begin that a dying process adds to what it has to say.
NOISE = ("PLEASE submit a bug report", "Stack dump", "#")

#: The step in which a process died that had done everything.
AT_EXIT = "exit"


@dataclass
class Probed:
    """The record of each step that ended, by name and in order, and the lines on stderr."""

    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    stderr: list[str] = field(default_factory=list)


def run_probe(order: Mapping[str, Any], environment: Mapping[str, str], timeout: float) -> Probed:
    """Run `probe`, and again without the step that it died in, until it comes to its end."""
    probed = Probed()
    skip: list[str] = []
    while True:
        records, stderr, end = run_once({**order, "skip": skip}, environment, timeout)
        done = [record for record in records if "step" in record]
        for record in done:  # a step that is repeated counts as it began
            probed.records.setdefault(record["step"], record)
        probed.stderr += stderr
        if not end:
            return probed
        crashed = AT_EXIT if not records or records[-1] in done else records[-1]["begin"]
        detail = ": ".join([end, *[line for line in stderr if not line.startswith(NOISE)][-1:]])
        end_of_it = {"outcome": "crashed", "detail": detail, "found": [], "libraries": []}
        probed.records.setdefault(crashed, end_of_it)
        if crashed == AT_EXIT:
            return probed
        # A test need not run again; an import has to be made again.
        names = (record["step"] for record in done)
        skip += [crashed, *(name for name in names if name.startswith(("device ", "load ")))]


def run_once(
    order: Mapping[str, Any], environment: Mapping[str, str], timeout: float
) -> tuple[list[dict[str, Any]], list[str], str]:
    """Run `probe` once; return its records, its stderr, and how it died (empty: it did not)."""
    source = Path(__file__).with_name("probe.py").read_text()
    with tempfile.TemporaryDirectory() as scratch:
        report, log = Path(scratch, "report"), Path(scratch, "log")
        report.touch()
        command = child.command(source, json.dumps(order), str(report))
        with log.open("w") as stderr:
            try:
                code = run_alone(command, environment, stderr, timeout)
                end = f"exit code {code}" if code else ""
                if code < 0:
                    end = signal.Signals(-code).name
            except subprocess.TimeoutExpired:
                end = f"it did not end within {timeout:g} s"
        lines = [line.strip()[:300] for line in log.read_text(errors="replace").splitlines()]
        records = [json.loads(line) for line in report.read_text().splitlines()]
        return records, [line for line in lines if line], end


def run_alone(
    command: list[str], environment: Mapping[str, str], stderr: IO[str], timeout: float
) -> int:
    """Run a command, and return its exit code; on a timeout, it ends with all that it started."""
    with subprocess.Popen(
        command,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        start_new_session=True,  # Ctrl-C is for the doctor, which then ends it
    ) as process:
        try:
            return process.wait(timeout)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
