# SPDX-License-Identifier: Apache-2.0
"""Cases, and the table of all cases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from dlpack_conformance.bench import Bench

__all__ = [
    "CASES",
    "C_API",
    "DLPACK",
    "EXCHANGE",
    "FROM_DLPACK",
    "NONE",
    "ONE_API",
    "PYTHON",
    "Case",
    "Clause",
    "Level",
    "Side",
    "consumer",
    "producer",
]

Level = Literal["must", "should", "robust"]
Side = Literal["producer", "consumer"]


@dataclass(frozen=True)
class Clause:
    """A place in a specification."""

    name: str
    url: str


C_API = Clause("dlpack.h", "https://dmlc.github.io/dlpack/latest/c_api.html")
PYTHON = Clause(
    "Python specification of DLPack", "https://dmlc.github.io/dlpack/latest/python_spec.html"
)
_GENERATED = "https://data-apis.org/array-api/latest/API_specification/generated/array_api."
DLPACK = Clause("array API, __dlpack__", f"{_GENERATED}array.__dlpack__.html")
FROM_DLPACK = Clause("array API, from_dlpack", f"{_GENERATED}from_dlpack.html")
EXCHANGE = Clause(
    "dlpack.h, DLPackExchangeAPI",
    "https://dmlc.github.io/dlpack/latest/c_api.html#c.DLPackExchangeAPI",
)
ONE_API = Clause("dlpack.h, kDLOneAPI (dmlc/dlpack#170)", "https://github.com/dmlc/dlpack/pull/170")
NONE = Clause("no clause", "")


@dataclass(frozen=True)
class Case:
    """One case.

    Attributes
    ----------
    level : {"must", "should", "robust"}
        Group.
    side : {"producer", "consumer"}
        Which side of an exchange the library under test is.
    about : str
        Subject, a few words.
    name : str
        Name of the function.
    text : str
        The tested property, as a sentence.
    clause : Clause
        The clause that requires it.
    run : callable
        The case: raises `BrokenError` or `NotOfferedError`.
    alone : bool
        Whether it runs in a process of its own; the exit code must then be 0 as well.
    """

    level: Level
    side: Side
    about: str
    name: str
    text: str
    clause: Clause
    run: Callable[[Bench], None] = field(repr=False)
    alone: bool = False

    @property
    def id(self) -> str:
        """The name in a report, and for ``pytest -k``."""
        return f"{self.level}-{self.side}-{self.name}"


#: id -> case
CASES: dict[str, Case] = {}

Run = Callable[[Bench], None]


def put(
    side: Side, run: Run, about: str, clause: Clause, *, alone: bool, name: str = "", text: str = ""
) -> Run:
    """Put a case into the table; its group is the module of the function."""
    level: Level = run.__module__.rpartition(".")[2].partition("_")[0]  # type: ignore[assignment]
    said = text or (run.__doc__ or "").partition("\n")[0].rstrip(".")
    assert said, run
    case = Case(level, side, about, name or run.__name__, said, clause, run, alone)
    assert case.id not in CASES, case.id
    CASES[case.id] = case
    return run


def producer(about: str, clause: Clause, *, alone: bool = False) -> Callable[[Run], Run]:
    """Make a function a case of a producer."""
    return lambda run: put("producer", run, about, clause, alone=alone)


def consumer(about: str, clause: Clause, *, alone: bool = False) -> Callable[[Run], Run]:
    """Make a function a case of a consumer."""
    return lambda run: put("consumer", run, about, clause, alone=alone)
