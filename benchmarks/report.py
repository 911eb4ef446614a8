# SPDX-License-Identifier: Apache-2.0
"""The numbers as text: lines for the terminal, and ``docs/benchmarks.md``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from benchmarks.outcome import Outcome

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
    if abs(value) >= 100:
        text = f"{value:,.0f}"
    elif abs(value) >= 10:
        text = f"{value:.1f}"
    else:
        text = f"{value:.2f}"
    return f"{text} {unit}".rstrip()


def reach_text(outcome: Outcome) -> str:
    """Return "≤ 1.3"."""
    sign = {"<=": "≤", ">=": "≥"}[outcome.reach.relation]
    return f"{sign} {outcome.reach.value:g} {outcome.reach.unit}".rstrip()


def spread_text(outcome: Outcome) -> str:
    """Return the quartiles."""
    return f"{number(outcome.reached.low)} to {number(outcome.reached.high)}"


def line(outcome: Outcome) -> str:
    """Return a line for the terminal."""
    unit = outcome.reach.unit
    floor = "" if outcome.floor is None else f"floor {number(outcome.floor, unit)}"
    return (
        f"{'yes' if outcome.met else 'NO':>4}  {number(outcome.reached.median, unit):>9}  "
        f"{'[' + spread_text(outcome) + ']':<18} {reach_text(outcome):>8}  {floor:<14} "
        f"{outcome.name.replace('`', '')}"
    )


def _table(outcomes: Sequence[Outcome]) -> str:
    rows = ["| figure | reached | quartiles | reach | met | floor |", "|---|---|---|---|---|---|"]
    for outcome in outcomes:
        unit = outcome.reach.unit
        floor = "" if outcome.floor is None else f"{number(outcome.floor, unit)}: "
        rows.append(
            f"| {outcome.name} | **{number(outcome.reached.median, unit)}** "
            f"| {spread_text(outcome)} | {reach_text(outcome)} "
            f"| {'yes' if outcome.met else '**no**'} | {floor}{outcome.floor_is} |"
        )
    return "\n".join(rows)


def _missed(outcomes: Sequence[Outcome]) -> str:
    missed = [outcome for outcome in outcomes if not outcome.met]
    if not missed:
        return "Every figure is reached in this run."
    rows = [
        f"- {outcome.name}: {number(outcome.reached.median, outcome.reach.unit)}, "
        f"reach {reach_text(outcome)}. {outcome.obstacle}".rstrip()
        for outcome in missed
    ]
    return "\n".join(rows)


def _versions() -> str:
    found = (f"{title} {metadata.version(name)}" for name, title in LIBRARIES.items())
    return ", ".join(found)


PAGE = """\
<!-- written by `make bench` -->
# Benchmarks

`sycl_ext` beside its peers. Every figure is a ratio of two times that were taken in turns in one
process, a few milliseconds apart; shown are the median of the ratios and their quartiles.
`make bench` measures all of it and writes this page; `python -m benchmarks --quick` takes half a
minute and writes nothing.

{versions}; {cpus} CPUs, OpenCL CPU device.

## The figures

The floor says how far a figure could go: what it would be if `sycl_ext` took no more time than what
is named there. `t` is a tensor in shared USM, `a` an array of NumPy, `d` one of dpnp, each of 4 x 4
float32 unless something else is said.

{table}

![Each figure relative to its reach, with quartiles and floor]({figures})

## What is missed, and why

{missed}

## Exchange by library

A row imports, a column offers; "refused" means that the library cannot take such an array: NumPy
and PyTorch without XPU take host memory only, which a host view is.

![The time of one exchange for each pair of libraries]({exchange})

## Copies by size

From shared USM, whose bytes the host can reach, to a new NumPy array; `copy_from` and `memcpy`
write to memory that is in use already. Blocks of up to 32 MB are recycled, so a result of that size
need not wait for the kernel to map and clear fresh pages.

![Bandwidth and time of copies from 4 B to 256 MB]({bandwidth})

## Axes, live exports, threads

`sx.from_dlpack(a)` takes memory that is not ours, and so asks the SYCL runtime whose it is. An
export costs more once another library was given our queue, as in these runs: from then on the
runtime is asked whether work is pending on it. Python's global lock lets one exchange through at a
time; copies release it, and memory is what limits them.

![Exchange by number of axes and of live exports, throughput by threads]({scaling})

## How it is measured

- A *turn* runs each contender for at least 0.4 ms, in an order that changes from turn to turn. The
  ratio is taken within the turn, the median over some hundred turns: a shared machine that slows
  down slows down both sides.
- The runs of a sample are looped as by `timeit`, without garbage collection.
- A producer of ready capsules is a class in Python with the signature of the standard, whose
  capsules were made before the clock started.
- Results are freed within the time that is taken, on both sides.
- The floors come from `benchmarks/bare.cpp`, an extension module that does the least.
- The stand-in GPU (`tests/fake_gpu`) has memory that the host cannot touch, and copies at the speed
  of the host's memory, not of a bus.
"""


def page(outcomes: Sequence[Outcome], pictures: dict[str, Path]) -> str:
    """Return the page of the documentation."""
    return PAGE.format(
        versions=_versions(),
        cpus=os.cpu_count(),
        table=_table(outcomes),
        missed=_missed(outcomes),
        **{name: path.name for name, path in pictures.items()},
    )
