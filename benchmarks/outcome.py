# SPDX-License-Identifier: Apache-2.0
"""What a measured figure is: how far it got, how far it should, and the floor beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benchmarks.harness import Spread

__all__ = ["Outcome", "Reach", "at_least", "at_most"]


@dataclass(frozen=True)
class Reach:
    """The least or the most that a figure shall be."""

    relation: Literal["<=", ">="]
    value: float
    unit: str = ""

    def met_by(self, value: float) -> bool:
        """Whether a value is far enough."""
        return value <= self.value if self.relation == "<=" else value >= self.value

    def margin(self, value: float) -> float:
        """How many times better than the reach a value is; below one: missed."""
        return self.value / value if self.relation == "<=" else value / self.value


@dataclass(frozen=True)
class Outcome:
    """A figure, measured."""

    name: str
    reached: Spread
    reach: Reach
    floor: float | None  # what the figure would be with nothing but the floor
    floor_is: str
    obstacle: str  # what stands in the way where it is not reached

    @property
    def met(self) -> bool:
        """Whether the median reaches it."""
        return self.reach.met_by(self.reached.median)


def at_most(value: float, unit: str = "") -> Reach:
    """Return a reach from above."""
    return Reach("<=", value, unit)


def at_least(value: float, unit: str = "") -> Reach:
    """Return a reach from below."""
    return Reach(">=", value, unit)
