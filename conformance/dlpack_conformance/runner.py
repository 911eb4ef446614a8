# SPDX-License-Identifier: Apache-2.0
"""Run cases in worker processes: one for each library, and a new one when it crashes."""

from __future__ import annotations

import atexit
import json
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from dlpack_conformance.cases import Case

__all__ = ["Library", "Outcome"]

SECONDS = 40  # of a case; more is a hang
FIRST = 120  # of a library's import


@dataclass(frozen=True)
class Outcome:
    """The finding of a case.

    Attributes
    ----------
    what : {"passed", "failed", "died", "not offered"}
        The outcome.
    text : str
            The reason.
    """

    what: Literal["passed", "failed", "died", "not offered"]
    text: str = ""

    @property
    def good(self) -> bool:
        """Whether the library passed the case."""
        return self.what == "passed"


class _Worker:
    """One process, and a thread that reads its output."""

    def __init__(self, name: str) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # for as long as the process
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-X",
                "faulthandler",
                "-W",
                "ignore",
                "-m",
                "dlpack_conformance.worker",
                name,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._hello: dict[str, Any] | None = None
        self.damaged = False
        atexit.register(self.kill)  # pytest may end while it collects

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def hello(self) -> dict[str, Any]:
        """Return the description of the library that the process sends."""
        if self._hello is None:
            said = self._answer(FIRST) or {"error": self.death()}
            self._hello = said if "outcome" not in said else {"error": said["text"]}
        return self._hello

    def _answer(self, seconds: float) -> dict[str, Any] | None:
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            self._process.kill()
            return {"outcome": "died", "text": f"no answer in {seconds:g} s"}
        return json.loads(line) if line else None

    def run(self, case: Case, memory: str) -> Outcome:
        """Run a case, or find out how the process ended."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{case.id} {memory}\n")
            self._process.stdin.flush()
        except OSError:
            return Outcome("died", self.death())
        answer = self._answer(SECONDS)
        if answer is None:
            return Outcome("died", self.death())
        # The same text in each run.
        return Outcome(answer["outcome"], re.sub(r"0x[0-9a-f]{6,}", "0x...", answer["text"]))

    def finish(self) -> str:
        """Let the process end by itself; return how it crashed, if it did."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return f"no end in {SECONDS} s"
        return self.death() if self._process.returncode else ""

    def death(self) -> str:
        """Say how the process ended."""
        code = self._process.wait(60)
        self._errors.seek(0)
        text = self._errors.read().decode(errors="replace")
        end = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        lines = [line for line in text.splitlines() if line.strip()]
        known = re.compile(r"what\(\):|free\(\)|corrupt|Fatal")  # of C++, of libc, of Python
        reason = next(filter(known.search, lines), "")
        return f"{end} {reason.strip()}".strip()

    def kill(self) -> None:
        """End the process."""
        atexit.unregister(self.kill)
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for file in (self._process.stdin, self._process.stdout, self._errors):
            assert file is not None
            with suppress(OSError):  # a line that was never read
                file.close()


class Library:
    """A library under test.

    A spare worker imports the library while the other one works, so that a crash costs little time.

    Parameters
    ----------
    name : str
        The value of ``--dlpack``.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._worker: _Worker | None = None
        self._spare: _Worker | None = None

    def hello(self) -> dict[str, Any]:
        """Return distribution, version and memories of the library, or an error."""
        return self._current().hello()

    def run(self, case: Case, memory: str) -> Outcome:
        """Run a case.

        After a failed hostile case the process may be damaged, so a crash counts only if it also
        happens in a fresh process.
        """
        if case.alone:
            return self._alone(case, memory)
        worker = self._current()
        damaged = worker.damaged
        outcome = worker.run(case, memory)
        if outcome.what != "died":
            worker.damaged |= case.level == "robust" and not outcome.good
            return outcome
        worker.kill()
        self._worker = None
        return self.run(case, memory) if damaged else outcome

    def _alone(self, case: Case, memory: str) -> Outcome:
        worker = self._fresh()
        try:
            worker.hello()
            outcome = worker.run(case, memory)
            if outcome.good and (end := worker.finish()):
                return Outcome("died", f"at the end: {end}")
            return outcome
        finally:
            worker.kill()

    def _current(self) -> _Worker:
        if self._worker is None:
            self._worker = self._fresh()
        self._worker.hello()
        return self._worker

    def _fresh(self) -> _Worker:
        worker = self._spare or _Worker(self.name)
        self._spare = _Worker(self.name)
        return worker

    def close(self) -> None:
        """End the processes."""
        for worker in (self._worker, self._spare):
            if worker is not None:
                worker.kill()
        self._worker = self._spare = None
