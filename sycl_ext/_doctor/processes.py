# SPDX-License-Identifier: Apache-2.0
"""Child processes of the doctor, each of which ends with its parent.

`run_probe` runs `probe`, which may crash or hang, and after a crash runs it again, without the step
that crashed. A process appends a line of JSON to a file when a step begins and when a step ends, so
the last line names the step in which it died.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

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

    def command_for(report: Path) -> list[str]:
        return command(source, json.dumps({**order, "skip": skip}), str(report))

    while True:
        ended = run_reporting(command_for, environment, timeout)
        done = [record for record in ended.records if "step" in record]
        for record in done:  # of a step that is repeated, the first record counts
            probed.records.setdefault(record["step"], record)
        probed.stderr += ended.stderr
        if not ended.cause:
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


#: The dynamic loader, in a line of ``/proc/self/maps``, and a library in its listing.
LOADER = re.compile(r"/\S*/ld-[^/]*\.so[^/]*$")
LISTED = re.compile(r"^\s*(?:\S+ => )?(/.+) \(0x[0-9a-f]+\)$", re.MULTILINE)


def libraries_displacing(driver: str) -> tuple[str, ...]:
    """Return the libraries that the dynamic loader takes in place of those next to a driver.

    The loader only lists them: it runs no code of theirs.
    """
    folder, maps = Path(driver).parent, Path("/proc/self/maps")
    lines = maps.read_text(errors="replace").splitlines() if maps.exists() else []
    loader = next((match[0] for match in map(LOADER.search, lines) if match), None)
    if loader is None:
        return ()
    listing = subprocess.run(
        [loader, "--list", driver], capture_output=True, text=True, errors="replace", check=False
    )
    taken = map(Path, LISTED.findall(listing.stdout))
    return tuple(
        str(path)
        for path in taken
        if (folder / path.name).exists() and not path.samefile(folder / path.name)
    )


# ---- a process -----------------------------------------------------------------------------------

#: The first statements of such a process. When the thread that started the process ends, for any
#: reason, the kernel kills the process, whatever it is doing; `parent` may have ended before that.
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
    """A process that has ended: what it reported, its lines on stderr, and why it died, if so."""

    records: list[dict[str, Any]]
    stderr: list[str]
    cause: str  # of its death, such as "SIGSEGV: the last line on stderr"; empty: it did not die


def command(code: str, *arguments: str) -> list[str]:
    """Return the command of a Python process that runs `code`.

    The thread that starts it has to wait for it.
    """
    prologue = _PROLOGUE.format(parent=os.getpid()) if sys.platform == "linux" else ""
    return [sys.executable, "-c", prologue + code, *arguments]


def run_reporting(
    command_for: Callable[[Path], list[str]], environment: Mapping[str, str], timeout: float
) -> Ended:
    """Run the command that takes a report, an empty file, and wait for its end."""
    with tempfile.TemporaryDirectory() as scratch:
        report, log = Path(scratch, "report"), Path(scratch, "log")
        report.touch()
        cause = ""
        with log.open("w") as stderr:
            try:
                code = run_alone(command_for(report), environment, stderr, timeout)
                if code:
                    cause = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            except subprocess.TimeoutExpired:
                cause = f"it did not end within {timeout:.3g} s"
        lines = [line.strip()[:300] for line in log.read_text(errors="replace").splitlines()]
        lines = [line for line in lines if line]
        last = [line for line in lines if not line.startswith(NOISE)][-1:]
        records = [json.loads(line) for line in report.read_text().splitlines()]
        return Ended(records, lines, ": ".join([cause, *last]) if cause else "")


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
