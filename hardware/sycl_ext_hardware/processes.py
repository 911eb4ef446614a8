# SPDX-License-Identifier: Apache-2.0
"""Runs the process of a part. A crash or a hang is a row, and a new process runs the rest.

The process appends a line of JSON to a file when a row begins and when it ends, so the last line
names the row in which it died.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

#: The name of a row for a process that died before its first row, or after its last one.
BEFORE, AFTER = "set-up", "end of the process"

#: The first statements of such a process. The kernel kills it when the thread ends that has started
#: it, however that ends, and whatever this process is doing; `parent` may have ended before that.
_PROLOGUE = """import ctypes, os, signal
ctypes.CDLL(None).prctl(1, ctypes.c_ulong(signal.SIGKILL))  # PR_SET_PDEATHSIG
if os.getppid() != {parent}:
    os._exit(1)
"""

#: Beginnings of lines that a crashing process adds to stderr, and that say nothing about the cause.
NOISE = ("PLEASE submit a bug report", "Stack dump", "#")


@dataclass
class Ended:
    """A process that has ended: its records, and how it died."""

    records: list[dict[str, Any]]
    death: Literal["", "crashed", "hung"]
    cause: str  # of its death, such as "SIGSEGV: the last line on stderr"


def run_part(order: dict[str, Any], limit: float, deadline: float) -> list[dict[str, Any]]:
    """Run a part, and again without the row in which it crashed or hung, until it comes to its end.

    Each process has `limit` seconds, and none goes on after the deadline of `time.monotonic`.
    """
    rows: list[dict[str, Any]] = []
    while True:
        left = deadline - time.monotonic()
        if left <= 0:
            return [*rows, row("the rest", "not reached", "the time of the report was over")]
        ended = run({**order, "skip": [record["row"] for record in rows]}, min(limit, left))
        rows += [record for record in ended.records if "row" in record]
        if not ended.death:
            return rows
        died_in = place(ended.records)
        if left < limit and ended.death == "hung":
            rows.append(row(died_in, "not reached", "the time of the report was over"))
        else:
            rows.append(row(died_in, ended.death, ended.cause))
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


def run(order: dict[str, Any], limit: float) -> Ended:
    """Run the process of a part once, and return its records."""
    with tempfile.TemporaryDirectory() as scratch:
        report, log = Path(scratch, "report"), Path(scratch, "log")
        report.touch()
        death, cause = "", ""  # type: Any, str
        with log.open("w") as stderr:
            try:
                command = command_of("child", {**order, "report": str(report)})
                code = wait_for(command, stderr, limit)
                if code:
                    death = "crashed"
                    cause = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            except subprocess.TimeoutExpired:
                death, cause = "hung", f"it did not end within {limit:.3g} s"
        records = [json.loads(line) for line in report.read_text().splitlines()]
        last = last_line(log.read_text(errors="replace"))
        return Ended(records, death, f"{cause}: {last}" if death and last else cause)


def wait_for(command: list[str], stderr: IO[str], limit: float) -> int:
    """Run a command, and return its exit code; on a timeout, kill it and all that it started."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        start_new_session=True,  # Ctrl-C is for the process that waits, which then kills this one
    ) as process:
        try:
            return process.wait(limit)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise


def last_line(errors: str) -> str:
    """Return the last line on stderr that says something; empty: there is none."""
    lines = [line.strip()[:300] for line in errors.splitlines()]
    return next((line for line in reversed(lines) if line and not line.startswith(NOISE)), "")


def command_of(module: str, order: dict[str, Any]) -> list[str]:
    """Return the command that calls `main` of a module of this folder with an order.

    What `main` returns lives until the process ends.
    """
    code = f"from sycl_ext_hardware.{module} import main; kept = main(json.loads(sys.argv[1]))"
    return python(f"import json; {code}", json.dumps(order))


def python(code: str, *arguments: str) -> list[str]:
    """Return the command of a Python process that runs `code`, and ends with this thread.

    The process finds modules where this one does, whatever the working directory holds.
    """
    prologue = _PROLOGUE.format(parent=os.getpid()) if sys.platform == "linux" else ""
    path = f"import sys; sys.path[:] = {sys.path!r}"
    return [sys.executable, "-c", f"{path}\n{prologue}{code}", *arguments]
