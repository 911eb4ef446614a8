# SPDX-License-Identifier: Apache-2.0
"""The process in which the library under test lives, and may die.

A line on the standard input is a case and a memory; a line of JSON on the standard output says what
was found.  What the library itself prints goes to the standard error.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import TYPE_CHECKING, Any, TextIO

from sycl_ext.testing.adapters import find
from sycl_ext.testing.bench import (
    Bench,
    BrokenError,
    Memory,
    NotOfferedError,
    exchange_dtype,
)

if TYPE_CHECKING:
    from sycl_ext.testing.cases import Case


def memories(bench: Bench) -> list[Memory]:
    """Return where hand-made structs may be for this library."""
    try:
        device = bench.device(bench.make())
    except NotOfferedError:
        return ["host"]
    if device[0] == 1:
        return ["host"]
    return ["own", "host"] if bench.adapter.takes_host else ["own"]


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
    """A library that dies leaves no file."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _end_with_the_parent() -> None:
    """A case that hangs does not outlive a pytest that was killed."""
    with suppress(AttributeError):  # of Linux
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _streams() -> tuple[TextIO, TextIO]:
    """Return where commands come from and answers go to; the library gets neither."""
    commands, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return commands, answers


def _say(out: TextIO, **words: Any) -> None:
    print(json.dumps(words), file=out, flush=True)


def _import_cases(package: ModuleType, kit: dict[str, ModuleType]) -> dict[str, Case]:
    """Import the cases, which take the dtype of the adapter, below the package of the bootstrap.

    The import of the real package, in a checkout, may have forgotten the modules of the kit.
    """
    own = sys.modules.get("sycl_ext")
    sys.modules.update(kit, sycl_ext=package)
    from sycl_ext.testing.cases import CASES

    del sys.modules["sycl_ext"]
    if own is not None:
        sys.modules["sycl_ext"] = own
    return CASES


def main(name: str, package: ModuleType) -> None:
    """Serve until the standard input ends."""
    _without_core_files()
    _end_with_the_parent()
    commands, out = _streams()
    kit = {
        name: module for name, module in sys.modules.copy().items() if name.startswith("sycl_ext.")
    }
    try:
        adapter = find(name)
        exchange_dtype(adapter.dtype)
        where = memories(Bench(adapter))
        cases = _import_cases(package, kit)
    except Exception as error:
        _say(out, error=f"{type(error).__name__}: {error}")
        return
    try:
        have = version(adapter.distribution)
    except PackageNotFoundError:
        have = "unknown"
    sides = [
        side
        for side, function in (("producer", adapter.make), ("consumer", adapter.take))
        if function is not None
    ]
    _say(
        out,
        distribution=adapter.distribution,
        version=have,
        memories=where,
        sides=sides,
        known=dict(adapter.known),
    )
    for line in commands:
        which, memory = line.split()
        _say(out, **run(cases[which], Bench(adapter, memory)))  # type: ignore[arg-type]
