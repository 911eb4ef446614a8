# SPDX-License-Identifier: Apache-2.0
"""The process that runs the library under test, and may crash.

A line on the standard input is a case and a memory; a line of JSON on the standard output is the
finding. Output of the library itself goes to the standard error.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, TextIO

from dlpack_conformance.adapter import Adapter, find
from dlpack_conformance.bench import (
    Bench,
    BrokenError,
    Memory,
    NotOfferedError,
    exchange_dtype,
)

if TYPE_CHECKING:
    from dlpack_conformance.cases import Case


def memories(bench: Bench) -> list[Memory]:
    """Return where hand-made structs may be for this library."""
    try:
        device = bench.device(bench.make())
    except NotOfferedError:
        return ["host"]
    if device[0] == 1:
        return ["host"]
    return ["own", "host"] if bench.adapter.takes_host else ["own"]


def sides_of(adapter: Adapter) -> list[str]:
    """Return the sides of an exchange that can be checked."""
    functions = {"producer": adapter.make, "consumer": adapter.take}
    sides = [side for side, function in functions.items() if function is not None]
    if not sides:
        raise ValueError(
            "nothing to check: give Adapter(make=...) for the exports of the library, "
            "Adapter(take=...) for its imports, or both"
        )
    return sides


def run(case: Case, bench: Bench) -> dict[str, str]:
    """Run one case."""
    try:
        case.run(bench)
    except NotOfferedError as error:
        return {"outcome": "not offered", "text": str(error)}
    except BrokenError as error:
        return {"outcome": "failed", "text": str(error)}
    except Exception as error:
        first = str(error).partition("\n")[0]
        return {"outcome": "failed", "text": f"{type(error).__name__}: {first}"}
    return {"outcome": "passed", "text": ""}


def _without_core_files() -> None:
    """A library that crashes leaves no core file."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _end_with_the_parent() -> None:
    """Let a hanging case end when its pytest is killed."""
    with suppress(AttributeError):  # of Linux
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _streams() -> tuple[TextIO, TextIO]:
    """Return the streams of commands and answers; the library gets neither."""
    commands, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return commands, answers


def _say(out: TextIO, **words: Any) -> None:
    print(json.dumps(words), file=out, flush=True)


def main(name: str) -> None:
    """Serve until the standard input ends."""
    _without_core_files()
    _end_with_the_parent()
    commands, out = _streams()
    try:
        adapter = find(name)
        sides = sides_of(adapter)
        exchange_dtype(adapter.dtype)
        where = memories(Bench(adapter))
        from dlpack_conformance.cases import CASES  # after its dtype is known

        for known in adapter.known:
            known.check(CASES)
    except Exception as error:
        _say(out, error=f"{type(error).__name__}: {error}")
        return
    try:
        have = version(adapter.distribution)
    except PackageNotFoundError:
        have = "unknown"
    _say(
        out,
        distribution=adapter.distribution,
        version=have,
        memories=where,
        sides=sides,
        known=[asdict(defect) for known in adapter.known if (defect := known.in_version(have))],
    )
    for line in commands:
        which, memory = line.split()
        _say(out, **run(CASES[which], Bench(adapter, memory)))  # type: ignore[arg-type]


if __name__ == "__main__":
    main(sys.argv[1])
