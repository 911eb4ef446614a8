# SPDX-License-Identifier: Apache-2.0
"""The numbers as text: lines for the terminal, and the blocks of the pages."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata

from benchmarks.harness import Outcome

__all__ = ["line", "number", "pages", "with_block"]

#: The page for users, and the one with every figure -> their blocks.
PAGES = {"benchmarks.md": ("versions", "short"), "measurements.md": ("table", "failed")}
#: Figures of the page for users, in its words.
SHORT = {
    "`sx.from_dlpack(t)` / `np.from_dlpack(a)`": "import a tensor; NumPy imports its own array",
    "`sx.from_dlpack(t)` / `dpnp.from_dlpack(d)`": "import a tensor; dpnp imports its own array",
    "`sx.empty(1024, 'u1')` / `np.empty(1024, 'u1')`": "allocate 1 KB; NumPy does the same",
    "`to_numpy(copy=True)`, 4 KB / `dpnp.asnumpy`": "copy 4 KB to the host; dpnp does the same",
    "`to_numpy(copy=True)`, 256 MB / memcpy into equally fresh memory": "copy 256 MB; as in C",
}

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
    """Return a number with about three significant digits, and its unit."""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f} {unit}".rstrip()


def texts(outcome: Outcome) -> tuple[str, str, str, str]:
    """Return the measured value, its quartiles, the target and the lower bound.

    A ratio is always shown as the factor by which we are faster: more is better.
    """
    target, measured = outcome.target, outcome.measured
    values = [measured.low, measured.median, measured.high, target.value, outcome.lower_bound]
    sign = {"<=": "≤", ">=": "≥"}[target.relation]
    if not target.unit and target.relation == "<=":
        values = [value and 1 / value for value in values]
        values[0], values[2] = values[2], values[0]
        sign = "≥"
    low, median, high, wanted, bound = values
    times = "" if target.unit else " x"
    return (
        number(median, target.unit) + times,
        f"{number(low)} to {number(high)}",
        f"{sign} {round(wanted, 2):g} {target.unit}".rstrip() + times,
        "" if bound is None else number(bound, target.unit) + times,
    )


def line(outcome: Outcome) -> str:
    """Return a line for the terminal."""
    measured, quartiles, target, bound = texts(outcome)
    passed = "pass" if outcome.passed else "FAIL"
    bound = bound and f"bound {bound}"
    name = outcome.name.replace("`", "")
    return f"{passed}  {measured:>9}  {f'[{quartiles}]':<18} {target:>8}  {bound:<20} {name}"


def _rows(outcomes: Iterable[Outcome], head: str) -> str:
    columns = head.count("|") - 1
    rows = [head, "|---" * columns + "|"]
    for outcome in outcomes:
        measured, quartiles, target, bound = texts(outcome)
        rows.append(
            f"| {outcome.name.replace(' / ', ' | ')} | **{measured}** | {quartiles} | {target} "
            f"| {'yes' if outcome.passed else '**no**'} "
            f"| {bound and f'{bound}: '}{outcome.lower_bound_is} |"
        )
    return "\n".join(rows)


def _table(outcomes: Sequence[Outcome]) -> str:
    ratios = [one for one in outcomes if not one.target.unit]
    others = [one for one in outcomes if one.target.unit]
    rest = "measured | quartiles | target | pass | lower bound |"
    times = "times faster | quartiles | target | pass | at the lower bound |"
    tables = [_rows(ratios, f"| this | than | {times}"), _rows(others, f"| figure | {rest}")]
    return "\n\n".join(table for table, some in zip(tables, (ratios, others), strict=True) if some)


def _failed(outcomes: Sequence[Outcome]) -> str:
    rows = []
    for outcome in outcomes:
        measured, _, target, _ = texts(outcome)
        if not outcome.passed:
            name = outcome.name.replace(" / ", ", compared with ")
            rows.append(f"- {name}: {measured}, target {target}. {outcome.reason}".rstrip())
    return "\n".join(rows) or "Every figure passes in this run."


def _short(outcomes: Sequence[Outcome]) -> str:
    rows = ["| task | `sycl_ext` / other | times as fast |", "|---|---|---|"]
    found = {outcome.name: texts(outcome)[0] for outcome in outcomes}
    rows += [f"| {SHORT[name]} | {name} | **{found[name]}** |" for name in SHORT if name in found]
    return "\n".join(rows)


def pages(read: Mapping[str, str], outcomes: Sequence[Outcome]) -> dict[str, str]:
    """Return the pages, by name, with the measured values in their blocks."""
    versions = [f"{title} {metadata.version(name)}" for name, title in LIBRARIES.items()]
    blocks = {
        "versions": f"{', '.join(versions)}; {os.cpu_count()} CPUs, OpenCL CPU device.",
        "short": _short(outcomes),
        "table": _table(outcomes),
        "failed": _failed(outcomes),
    }
    result = {}
    for page, names in PAGES.items():
        text = read[page]
        for name in names:
            text = with_block(text, name, blocks[name])
        result[page] = text
    return result


def with_block(text: str, name: str, block: str) -> str:
    """Return the page with another content of one block."""
    pattern = rf"(?<=<!-- {name}: written by `make bench` -->\n).*?(?=\n<!-- end of {name} -->)"
    text, count = re.subn(pattern, lambda _: block, text, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"the page has {count} blocks named {name}, and needs one")
    return text
