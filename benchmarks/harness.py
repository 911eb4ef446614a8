# SPDX-License-Identifier: Apache-2.0
"""Timing side by side: contenders take turns, and the result is the ratio within each turn.

A shared machine changes its speed from one moment to the next by a factor of two and more. A turn
times every contender once, in a new order, within a few milliseconds, so such changes rarely affect
the ratio within a turn. The median over many turns excludes the affected ones.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from timeit import Timer
from typing import Any, Literal

__all__ = ["Contender", "Outcome", "Pace", "Race", "Spread", "Target", "calibrate", "race"]

#: Seconds that n runs of a contender take.
Sample = Callable[[int], float]


@dataclass(frozen=True)
class Contender:
    """A statement to be timed, in the names it needs.

    `prepare` runs before each sample, outside the clock, and may use ``_n``, the number of runs.
    """

    statement: str
    names: Mapping[str, Any]
    prepare: str = "pass"

    def compiled(self) -> Sample:
        """Return the function that times n runs, without garbage collection."""
        names = dict(self.names)
        timer = Timer(self.statement, self.prepare, globals=names)

        def sample(count: int) -> float:
            names["_n"] = count
            return timer.timeit(count)

        return sample


@dataclass(frozen=True)
class Pace:
    """Durations: at least `sample` seconds for a sample, about `budget` seconds for all turns."""

    budget: float = 1.2
    sample: float = 4e-4
    turns: tuple[int, int] = (9, 1001)  # at least, at most

    def scaled(self, factor: float) -> Pace:
        """Return a pace for another budget; a small budget has fewer turns."""
        least = max(3, round(self.turns[0] * min(factor, 1)))
        return Pace(self.budget * factor, self.sample, (least, max(least, self.turns[1])))


@dataclass(frozen=True)
class Spread:
    """A median between its quartiles."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return the quartiles of some values."""
        if len(values) == 1:
            return cls(values[0], values[0], values[0])
        return cls(*statistics.quantiles(values, n=4, method="inclusive"))


@dataclass(frozen=True)
class Race:
    """Seconds for one run of each contender, one number per turn."""

    seconds: Mapping[str, Sequence[float]]

    def time(self, name: str) -> Spread:
        """Return the time of one run."""
        return Spread.of(self.seconds[name])

    def ratio(self, name: str, other: str) -> Spread:
        """Return the spread of the ratios within the turns."""
        return Spread.of(
            [a / b for a, b in zip(self.seconds[name], self.seconds[other], strict=True)]
        )


@dataclass(frozen=True)
class Target:
    """The lower or upper limit of a figure."""

    relation: Literal["<=", ">="]
    value: float
    unit: str = ""


@dataclass(frozen=True)
class Outcome:
    """A figure, measured."""

    name: str
    measured: Spread
    target: Target
    lower_bound: float | None  # the figure at the time of the lower bound
    lower_bound_is: str
    reason: str = ""  # the reason, if it fails

    @property
    def passed(self) -> bool:
        """Whether the median is at the target, or better."""
        median, target = self.measured.median, self.target
        return median <= target.value if target.relation == "<=" else median >= target.value


def calibrate(sample: Sample, seconds: float, most: int = 1 << 22) -> int:
    """Return the number of runs that take at least about this many seconds.

    The better of two samples counts: the first may wait for earlier work.
    """
    count = 1
    while count < most:
        spent = min(sample(count), sample(count))
        if spent >= seconds:
            return count
        growth = 1.1 * seconds / spent if spent > 0 else 10.0
        count = min(most, max(count + 1, math.ceil(count * min(growth, 10.0))))
    return most


def orders(names: Sequence[str]) -> Iterator[list[str]]:
    """Yield the names in every rotation, forwards and backwards, again and again."""
    for i in cycle(range(len(names))):
        turned = [*names[i:], *names[:i]]
        yield turned
        yield turned[::-1]


def race(contenders: Mapping[str, Contender | Sample], pace: Pace) -> Race:
    """Time the contenders in turns until the budget is spent.

    A contender may also be a function that returns the seconds of n runs by itself.
    """
    samples = {
        name: entry.compiled() if isinstance(entry, Contender) else entry
        for name, entry in contenders.items()
    }
    counts = {name: calibrate(sample, pace.sample) for name, sample in samples.items()}
    seconds: dict[str, list[float]] = {name: [] for name in samples}
    least, most = pace.turns
    end = time.perf_counter() + pace.budget
    for turn, order in enumerate(orders(list(samples))):
        if turn >= most or (turn >= least and time.perf_counter() >= end):
            break
        for name in order:
            seconds[name].append(samples[name](counts[name]) / counts[name])
    return Race(seconds)
