# SPDX-License-Identifier: Apache-2.0
"""The results of a row: it held, it did not hold, or the device cannot do it."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
#: A row: its name, and the function that returns its detail or its figures.
Row = tuple[str, Callable[[], str | dict[str, float] | None]]


class Cannot(Exception):  # noqa: N818 - not an error
    """The device, or this machine, cannot do it; the message says why."""


class NothingShown(Cannot):
    """The pending work was done too early in each try: longer work may show something."""


class DidNotHoldError(Exception):
    """A promise was broken; the message says how."""


def numbers(first: int, nbytes: int) -> Numbers:
    """Return consecutive integers of so many bytes; with another `first` each is another one."""
    return np.arange(nbytes // 8, dtype="int64") + (first << 40)


def as_numbers(data: object) -> Numbers:
    """Return the bytes of an array, or of dpctl's memory, as integers."""
    if hasattr(data, "copy_to_host"):
        data = data.copy_to_host()
    return np.frombuffer(np.ascontiguousarray(data).tobytes(), "int64")


def difference(actual: Numbers, wanted: Numbers, **known: Numbers) -> str:
    """Say how elements differ from those that are wanted; empty: they do not.

    `known` are elements that may be there instead, by a name that describes them.
    """
    if actual.shape != wanted.shape:
        return f"{actual.size} elements instead of {wanted.size}"
    unknown = actual != wanted
    if not unknown.any():
        return ""
    kinds = [f"{unknown.sum()} of {actual.size} elements are wrong"]
    for name, elements in known.items():
        same = unknown & (actual == elements)
        if same.any():
            kinds.append(f"{same.sum()} are {name.replace('_', ' ')}")
        unknown &= ~same
    if unknown.any():
        place = int(np.flatnonzero(unknown)[0])
        is_and_should = f"{int(actual[place]):#x} instead of {int(wanted[place]):#x}"
        kinds.append(f"element {place} is {is_and_should}")
    return ", ".join(kinds)


def expect(actual: object, wanted: Numbers, what: str) -> None:
    """Raise DidNotHoldError unless the bytes are those that are wanted."""
    if problem := difference(as_numbers(actual), wanted):
        raise DidNotHoldError(f"{what}: {problem}")


class Samples:
    """Tries of one row with work pending: each is right or wrong, and the work was seen or not."""

    def __init__(self) -> None:
        self.count = 0
        self.pending = 0
        self.problems: list[str] = []

    def add(self, name: str, problem: str, *, pending: bool) -> None:
        """Add a try, with its problem (empty: it was right)."""
        self.count += 1
        self.pending += pending
        if problem:
            self.problems.append(f"{name}: {problem}")

    def result(self) -> str:
        """Return the detail of the row, or raise how it did not hold."""
        if self.problems:
            raise DidNotHoldError(
                f"{len(self.problems)} of {self.count} tries were wrong; {self.problems[0]}"
            )
        if not self.count:
            raise Cannot("this device has no memory for it")
        if not self.pending:
            raise NothingShown(
                f"nothing was shown: the work was done before each of the {self.count} calls"
            )
        return f"{self.count} of {self.count} tries right, with work pending in {self.pending}"
