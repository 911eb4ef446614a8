# SPDX-License-Identifier: Apache-2.0
"""The processes in which `probe` asks devices and drivers, and what comes back from them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

#: How lines begin that a dying process adds to what it has to say.
NOISE = ("PLEASE submit a bug report", "Stack dump", "#")

#: The step in which a process died that had done everything.
AT_EXIT = "exit"


@dataclass
class Probed:
    """The result: a record for each step that ended, and the lines that were written."""

    records: list[dict[str, Any]] = field(default_factory=list)
    stderr: list[str] = field(default_factory=list)

    def outcomes(self) -> dict[str, tuple[Any, str]]:
        """Return outcome and detail of each step; a step that was repeated counts as it began."""
        return {
            one["step"]: (one["outcome"], one["detail"])
            for one in (*self.records, *reversed(self.records))  # the order, and the first values
        }

    def details(self) -> dict[str, str]:
        """Return the detail of each step."""
        return {name: detail for name, (_, detail) in self.outcomes().items()}

    def found(self, name: str) -> list[Any]:
        """Return what a step has found out."""
        return next((one["found"] for one in self.records if one["step"] == name), [])

    def libraries(self) -> dict[str, str]:
        """Return the libraries of the runtime that were loaded, in order, and by which step."""
        found: dict[str, str] = {}
        for one in self.records:
            for path in one["libraries"]:
                found.setdefault(path, one["step"])
        return found

    def add(self, step: str, outcome: str, detail: str) -> None:
        """Add a step that no process has reported."""
        self.records.append(
            {"step": step, "outcome": outcome, "detail": detail, "found": [], "libraries": []}
        )


def run_probe(
    order: Mapping[str, Any],
    environment: Mapping[str, str],
    timeout: float,
) -> Probed:
    """Run `probe`, and again without the step that it died in, until it comes to its end."""
    probed = Probed()
    skip: list[str] = []
    while True:
        records, stderr, end = run_once({**order, "skip": skip}, environment, timeout)
        done = [record for record in records if "step" in record]
        probed.records += done
        probed.stderr += stderr
        if not end:
            return probed
        crashed = AT_EXIT if not records or records[-1] in done else records[-1]["begin"]
        detail = ": ".join([end, *[line for line in stderr if not line.startswith(NOISE)][-1:]])
        probed.add(crashed, "crashed", detail)
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
        command = [sys.executable, "-c", source, json.dumps(order), str(report)]
        with log.open("w") as stderr:
            try:
                end = how_it_ended(run_alone(command, environment, stderr, timeout))
            except subprocess.TimeoutExpired:
                end = f"it did not end within {timeout:g} s"
        lines = [line.strip()[:300] for line in log.read_text(errors="replace").splitlines()]
        records = [json.loads(line) for line in report.read_text().splitlines()]
        return records, [line for line in lines if line], end


def run_alone(
    command: list[str], environment: Mapping[str, str], stderr: IO[str], timeout: float
) -> int:
    """Run a command, and return its exit code; on a timeout, it ends with all that it started."""
    null = subprocess.DEVNULL
    with subprocess.Popen(
        command,
        env=dict(environment),
        stdin=null,
        stdout=null,
        stderr=stderr,
        start_new_session=True,  # Ctrl-C is for the doctor, which then ends it
    ) as process:
        try:
            return process.wait(timeout)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise


def how_it_ended(returncode: int) -> str:
    """Return how a process died; empty: it did not."""
    if returncode < 0:
        return signal.Signals(-returncode).name
    return f"exit code {returncode}" if returncode else ""
