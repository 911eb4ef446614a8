# SPDX-License-Identifier: Apache-2.0
"""The process of a part, and its rows: also those of a process that crashes or hangs."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from sycl_ext._doctor.processes import NOISE, run_alone

#: The name of a row for a process that died before its first row, or after its last one.
BEFORE, AFTER = "set-up", "end of the process"


def run_part(order: dict[str, Any], limit: float, deadline: float) -> list[dict[str, Any]]:
    """Run a part, and again without the row in which it crashed or hung, until it comes to its end.

    Each process has `limit` seconds, and none goes on after the deadline of `time.monotonic`.
    """
    rows: list[dict[str, Any]] = []
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return [*rows, row("the rest", "not reached", "the time of the report was over")]
        skip = [one["row"] for one in rows]
        records, verdict, detail = run_once({**order, "skip": skip}, min(limit, left))
        rows += [record for record in records if "row" in record]
        if not verdict:
            return rows
        if left < limit and verdict == "hung":
            verdict, detail = "not reached", "the time of the report was over"
        died_in = place(records)
        rows.append(row(died_in, verdict, detail))
        if died_in in (BEFORE, AFTER):
            return rows


def row(name: str, verdict: str, detail: str) -> dict[str, Any]:
    """Return a row that no process has reported."""
    return {"row": name, "verdict": verdict, "detail": detail}


def place(records: list[dict[str, Any]]) -> str:
    """Return the row in which a process died."""
    if not records:
        return BEFORE
    return str(records[-1].get("begin", AFTER))


def command_of(module: str, order: dict[str, Any]) -> list[str]:
    """Return the command that calls `main` of a module of this folder with an order.

    The process finds modules where this one does, whatever the working directory holds.
    """
    code = (
        f"import sys; sys.path[:] = {sys.path!r}; import json; "
        f"from sycl_ext._hardware.{module} import main; kept = main(json.loads(sys.argv[1]))"
    )
    return [sys.executable, "-c", code, json.dumps({**order, "parent": os.getpid()})]


def run_once(order: dict[str, Any], limit: float) -> tuple[list[dict[str, Any]], str, str]:
    """Run the process of a part once; return its records, and how it died (empty: it did not)."""
    with tempfile.TemporaryDirectory() as scratch:
        report, log = Path(scratch, "report"), Path(scratch, "log")
        report.touch()
        command = command_of("child", {**order, "report": str(report)})
        verdict, detail = "", ""
        with log.open("w") as stderr:
            try:
                code = run_alone(command, os.environ, stderr, limit)
                if code:
                    verdict, detail = "crashed", f"exit code {code}"
                if code < 0:
                    detail = signal.Signals(-code).name
            except subprocess.TimeoutExpired:
                verdict, detail = "hung", f"it did not end within {limit:.0f} s"
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
        last = [line[:300] for line in lines if line and not line.startswith(NOISE)][-1:]
        records = [json.loads(line) for line in report.read_text().splitlines()]
        return records, verdict, ": ".join([detail, *last]) if verdict else ""
