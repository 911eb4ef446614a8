# SPDX-License-Identifier: Apache-2.0
"""The numbers as text: lines for the terminal, and the blocks of ``docs/benchmarks.md``."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from importlib import metadata

from benchmarks.harness import Outcome

__all__ = ["line", "number", "page"]

LIBRARIES = {
    "sycl_ext": "sycl_ext",
    "numpy": "NumPy",
    "dpnp": "dpnp",
    "dpctl": "dpctl",
    "torch": "PyTorch",
    "apache-tvm-ffi": "tvm-ffi",
    "intel-sycl-rt": "SYCL runtime",
}


def number(value: float, unit: str = "") -> str:
    """Return a number with about three digits that mean something, and its unit."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f} {unit}".rstrip()


def texts(outcome: Outcome) -> tuple[str, str, str, str]:
    """Return what was measured, its quartiles, the target and the lower bound."""
    target, measured = outcome.target, outcome.measured
    sign = {"<=": "≤", ">=": "≥"}[target.relation]
    bound = "" if outcome.lower_bound is None else number(outcome.lower_bound, target.unit)
    return (
        number(measured.median, target.unit),
        f"{number(measured.low)} to {number(measured.high)}",
        f"{sign} {target.value:g} {target.unit}".rstrip(),
        bound,
    )


def line(outcome: Outcome) -> str:
    """Return a line for the terminal."""
    measured, quartiles, target, bound = texts(outcome)
    passed = "pass" if outcome.passed else "FAIL"
    bound = bound and f"lower bound {bound}"
    name = outcome.name.replace("`", "")
    return f"{passed}  {measured:>9}  {f'[{quartiles}]':<18} {target:>8}  {bound:<20} {name}"


def _table(outcomes: Sequence[Outcome]) -> str:
    rows = ["| figure | measured | quartiles | target | pass | lower bound |", "|---" * 6 + "|"]
    for outcome in outcomes:
        measured, quartiles, target, bound = texts(outcome)
        rows.append(
            f"| {outcome.name} | **{measured}** | {quartiles} | {target} "
            f"| {'yes' if outcome.passed else '**no**'} "
            f"| {bound and f'{bound}: '}{outcome.lower_bound_is} |"
        )
    return "\n".join(rows)


def _failed(outcomes: Sequence[Outcome]) -> str:
    rows = []
    for outcome in outcomes:
        measured, _, target, _ = texts(outcome)
        if not outcome.passed:
            rows.append(f"- {outcome.name}: {measured}, target {target}. {outcome.reason}".rstrip())
    return "\n".join(rows) or "Every figure passes in this run."


def page(text: str, outcomes: Sequence[Outcome]) -> str:
    """Return the page with what was measured in its blocks."""
    versions = [f"{title} {metadata.version(name)}" for name, title in LIBRARIES.items()]
    blocks = {
        "versions": f"{', '.join(versions)}; {os.cpu_count()} CPUs, OpenCL CPU device.",
        "table": _table(outcomes),
        "failed": _failed(outcomes),
    }
    for name, block in blocks.items():
        pattern = rf"(?<=<!-- {name}: written by `make bench` -->\n).*?(?=\n<!-- end of {name} -->)"
        text, count = re.subn(pattern, lambda _, block=block: block, text, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"docs/benchmarks.md has {count} blocks named {name}, and needs one")
    return text
