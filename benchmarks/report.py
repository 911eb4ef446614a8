# SPDX-License-Identifier: Apache-2.0
"""The numbers as text: lines for the terminal, and the blocks of the pages.

Every number of a page is in a block, and every block is made from one file of data
(``docs/develop/benchmarks.json``), so that a sentence cannot contradict the table or the picture
below it.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from typing import Any

from benchmarks.harness import Outcome

__all__ = ["line", "number", "pages", "prose_pages", "seconds_text", "with_block"]

#: The page for users, and the one with every figure -> their blocks.
PAGES = {"benchmarks.md": ("versions", "short"), "measurements.md": ("table", "failed")}
#: The page -> its blocks of sentences, and the table that they speak of.
PROSE = {
    "docs/develop/benchmarks.md": ("imports", "end to end", "slowest"),
    "README.md": ("imports",),
}
#: Figures of the page for users, in its words.
SHORT = {
    "`sx.from_dlpack(t)` / `np.from_dlpack(a)`": "import a tensor; NumPy imports its own array",
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


def seconds_text(seconds: float) -> str:
    """Return "84 ns", "1.9 µs", ..."""
    for factor, unit in ((1e9, "ns"), (1e6, "µs"), (1e3, "ms")):
        value = seconds * factor
        if value < 1000:
            return f"{value:.{0 if value >= 10 or unit == 'ns' else 1}f} {unit}"
    return f"{seconds:.1f} s"


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
    ratios = [outcome for outcome in outcomes if not outcome.target.unit]
    others = [outcome for outcome in outcomes if outcome.target.unit]
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
    words = {outcome.name: texts(outcome)[0] for outcome in outcomes}
    rows += [f"| {SHORT[name]} | {name} | **{words[name]}** |" for name in SHORT if name in words]
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


def _imports(curves: Mapping[str, Any]) -> str:
    """Return sentences on the picture: the time of an import, by libraries."""
    curve = curves["exchange"]
    rows = (dict(zip(curve["producers"], row, strict=True)) for row in curve["seconds"])
    times = dict(zip(curve["consumers"], rows, strict=True))
    ours, of_dpnp = times["sycl_ext"], times["dpnp"]
    peers = [ours[name] for name in ("NumPy", "PyTorch", "tvm-ffi")]
    return (
        "One zero-copy import of a small array by `from_dlpack` takes "
        f"{seconds_text(ours['sycl_ext'])} between tensors of this package, and "
        f"{seconds_text(min(peers))} to {seconds_text(max(peers))} from NumPy, PyTorch and TVM "
        "FFI. "
        f"**With dpnp it takes {seconds_text(ours['dpnp'])} (from dpnp) and "
        f"{seconds_text(of_dpnp['sycl_ext'])} (into dpnp)**, most of it dpnp's own export and "
        f"import: from dpnp to dpnp it takes {seconds_text(of_dpnp['dpnp'])}."
    )


def end_to_end_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table of complete tasks."""
    lines = ["| work | with `sycl_ext` | today | times faster |", "|---|---|---|---|"]
    for row in rows:
        ours = f"{1e3 * row['ours']:.3g} ms"
        if row["times"] is None:
            lines.append(f"| {row['work']} | {ours} | {row['today']} | |")
            continue
        low, median, high = row["times"]
        today = f"{1e3 * row['today']:.3g} ms"
        ratio = f"**{median:.3g}** ({low:.3g} to {high:.3g})"
        lines.append(f"| {row['work']} | {ours} | {today} | {ratio} |")
    return "\n".join(lines)


def _slowest(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return a sentence on the task that gains least, or loses."""
    row = min((row for row in rows if row["times"] is not None), key=lambda row: row["times"][1])
    median = row["times"][1]
    if median < 1:
        return (
            f'**The package is not always faster:** the task "{row["work"]}" takes '
            f"{1 / median:.3g} times as long with it."
        )
    return (
        f"In this run every task was faster with `sycl_ext`. The task that gained least is "
        f'"{row["work"]}": {median:.3g} times as fast.'
    )


def prose_pages(read: Mapping[str, str], results: Mapping[str, Any]) -> dict[str, str]:
    """Return the pages with the sentences, and the table of tasks, of the data."""
    blocks = {
        "imports": textwrap.fill(_imports(results["curves"]), 120),
        "end to end": end_to_end_table(results["end to end"]),
        "slowest": textwrap.fill(_slowest(results["end to end"]), 120),
    }
    result = {}
    for page, names in PROSE.items():
        text = read[page]
        for name in names:
            text = with_block(text, name, blocks[name])
        result[page] = text
    return result


def with_block(text: str, name: str, block: str) -> str:
    """Return the page with another content of one block."""
    pattern = rf"(?<=<!-- {name}: written by `make bench` -->\n).*?(?=<!-- end of {name} -->)"
    text, count = re.subn(pattern, lambda _: f"{block}\n", text, flags=re.DOTALL)
    if count != 1:
        raise ValueError(f"the page has {count} blocks named {name}, and needs one")
    return text
