# SPDX-License-Identifier: Apache-2.0
"""The processes that this package starts: each dies with the process that has started it.

`run_reporting` runs one that may crash or hang. It appends a line of JSON to a file when a step
begins and when a step ends, so the last line names the step in which it died.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

#: The first statements of such a process. The kernel kills it when the thread ends that has started
#: it, however that ends, and whatever this process is doing; `parent` may have ended before that.
_PROLOGUE = """
import ctypes, os, signal
ctypes.CDLL(None).prctl(1, ctypes.c_ulong(signal.SIGKILL))  # PR_SET_PDEATHSIG
if os.getppid() != {parent}:
    os._exit(1)
del ctypes, os, signal
"""

#: Beginnings of lines that a crashing process adds to stderr, and that say nothing about the cause.
NOISE = ("PLEASE submit a bug report", "Stack dump", "#")


@dataclass
class Ended:
    """A process that has ended: what it reported, its lines on stderr, and how it died."""

    records: list[dict[str, Any]]
    stderr: list[str]
    death: Literal["", "crashed", "hung"]
    cause: str  # of its death, such as "SIGSEGV: the last line on stderr"


def command(code: str, *arguments: str) -> list[str]:
    """Return the command of a Python process that runs `code`.

    The thread that starts it has to wait for it.
    """
    prologue = _PROLOGUE.format(parent=os.getpid()) if sys.platform == "linux" else ""
    return [sys.executable, "-c", prologue + code, *arguments]


def run_reporting(
    command: Callable[[Path], list[str]], environment: Mapping[str, str], timeout: float
) -> Ended:
    """Run the command for a report, which is an empty file, and wait for its end."""
    with tempfile.TemporaryDirectory() as scratch:
        report, log = Path(scratch, "report"), Path(scratch, "log")
        report.touch()
        death, cause = "", ""  # type: Any, str
        with log.open("w") as stderr:
            try:
                code = run_alone(command(report), environment, stderr, timeout)
                if code:
                    death = "crashed"
                    cause = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            except subprocess.TimeoutExpired:
                death, cause = "hung", f"it did not end within {timeout:.3g} s"
        lines = [line.strip()[:300] for line in log.read_text(errors="replace").splitlines()]
        lines = [line for line in lines if line]
        last = [line for line in lines if not line.startswith(NOISE)][-1:]
        records = [json.loads(line) for line in report.read_text().splitlines()]
        return Ended(records, lines, death, ": ".join([cause, *last]) if death else "")


def run_alone(
    command: list[str], environment: Mapping[str, str], stderr: IO[str], timeout: float
) -> int:
    """Run a command, and return its exit code; on a timeout, kill it and all that it started."""
    with subprocess.Popen(
        command,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        start_new_session=True,  # Ctrl-C is for the process that waits, which then kills this one
    ) as process:
        try:
            return process.wait(timeout)
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
