# SPDX-License-Identifier: Apache-2.0
"""The plots of ``docs/benchmarks.md``, drawn from the numbers of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.colors import LogNorm
from matplotlib.ticker import FuncFormatter, NullLocator

from benchmarks.curves import Curve
from benchmarks.harness import Outcome

__all__ = ["draw_all"]

OURS, OURS_TOO, OURS_THREE = "#0b63c5", "#5aa9ff", "#0a8f86"
PEER, PEER_TOO, BOUND, FAILED = "#e07b00", "#b23a7a", "#8b95a1", "#c62f2f"
STYLE = {
    "font.size": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e8ee",
    "legend.frameon": False,
    "legend.fontsize": 8,
}
#: The axis of the figures: margins beyond it are drawn at its ends.
LEAST, MOST = 0.22, 40.0
#: How each line of the other plots is drawn.
LINES = {
    "sycl_ext: to_numpy(copy=True)": (OURS, "-"),
    "sycl_ext: copy_from, into memory in use": (OURS_TOO, "-"),
    "NumPy: array.copy()": (PEER, "-"),
    "dpnp: asnumpy": (PEER_TOO, "-"),
    "memcpy, into memory in use": (BOUND, "--"),
    "t.__dlpack__()": (OURS_TOO, "-"),
    "NumPy's __dlpack__()": (PEER, "--"),
    "sx.from_dlpack(t)": (OURS, "-"),
    "np.from_dlpack(a)": (PEER_TOO, "--"),
    "sx.from_dlpack(a)": (OURS_THREE, "-"),
    "t.to_numpy(copy=True), 4 MB": (OURS_TOO, "-"),
    "np.copy(a), 4 MB": (PEER, "--"),
}


def seconds_text(seconds: float) -> str:
    """Return "84 ns", "1.9 µs", ..."""
    for factor, unit in ((1e9, "ns"), (1e6, "µs"), (1e3, "ms")):
        value = seconds * factor
        if value < 1000:
            return f"{value:.{0 if value >= 10 or unit == 'ns' else 1}f} {unit}"
    return f"{seconds:.1f} s"


def bytes_text(nbytes: float) -> str:
    """Return "4 B", "16 KB", ..."""
    for unit in ("B", "KB"):
        if nbytes < 1024:
            return f"{nbytes:.0f} {unit}"
        nbytes /= 1024
    return f"{nbytes:.0f} MB"


def draw_figures(outcomes: Sequence[Outcome]) -> Any:
    """Draw how many times better than its target each figure is, with its lower bound."""
    rows = list(outcomes)[::-1]
    figure, axes = plt.subplots(figsize=(10.5, 0.27 * len(rows) + 1.5))
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=1)
    for y, outcome in enumerate(rows):
        target, measured = outcome.target, outcome.measured
        color = OURS if outcome.passed else FAILED
        low, median, high = (
            min(max(target.margin(max(value, 1e-9)), LEAST), MOST)
            for value in (measured.low, measured.median, measured.high)
        )
        axes.plot([low, high], [y, y], color=color, alpha=0.35, linewidth=5)
        axes.plot(median, y, "o", color=color, markersize=5.5)
        if outcome.lower_bound and LEAST < target.margin(outcome.lower_bound) < MOST:
            axes.plot(target.margin(outcome.lower_bound), y, "|", color=BOUND, markersize=10)
    names = [row.name.replace("`", "") for row in rows]
    short = [name if len(name) <= 76 else f"{name[:74]} …" for name in names]
    axes.set_yticks(range(len(rows)), short, fontsize=7.6)
    axes.set_ylim(-0.8, len(rows) - 0.2)
    axes.set_xlim(LEAST * 0.9, MOST * 1.1)
    ticks = (0.25, 0.5, 1, 2, 4, 8, 16, 32)
    axes.set_xticks(ticks, [f"{tick:g} x" for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("times better than the target; red: fails; grey: the lower bound")
    axes.set_title("Median and quartiles of each figure, and its lower bound")
    return figure


def draw_exchange(curve: Curve) -> Any:
    """Draw the time of each consumer for each producer's array."""
    consumers, producers, seconds = curve["consumers"], curve["producers"], curve["seconds"]
    figure, axes = plt.subplots(figsize=(10, 4.6))
    nan = float("nan")
    values = [[nan if value is None else value for value in row] for row in seconds]
    axes.imshow(values, norm=LogNorm(), cmap="RdYlGn_r", alpha=0.55, aspect="auto")
    for y, row in enumerate(seconds):
        for x, value in enumerate(row):
            text = "refused" if value is None else seconds_text(value)
            axes.text(x, y, text, ha="center", va="center", alpha=0.4 if value is None else 1)
    axes.grid(visible=False)
    axes.set_xticks(range(len(producers)), producers)
    axes.set_yticks(range(len(consumers)), consumers)
    axes.set_xlabel("array of")
    axes.set_ylabel("imported by")
    axes.set_title("One zero-copy exchange of a 4 x 4 array")
    return figure


def draw_lines(axes: Any, curve: Curve, scale: Any) -> None:
    """Draw medians between their quartiles, by a function of x and the seconds."""
    for name, points in curve["lines"].items():
        color, line = LINES[name]
        low, median, high = (
            [scale(x, t, points[0][1]) for x, t in zip(curve["x"], times, strict=True)]
            for times in zip(*points, strict=True)
        )
        axes.plot(curve["x"], median, line, color=color, label=name, marker="o", markersize=3)
        axes.fill_between(curve["x"], low, high, color=color, alpha=0.13, linewidth=0)


def draw_bandwidth(curve: Curve) -> Any:
    """Draw bytes per second by size, and the time of the small ones."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5))
    draw_lines(left, curve, lambda nbytes, seconds, _: nbytes / seconds / 1e9)
    draw_lines(right, curve, lambda _, seconds, __: seconds)
    for axes in (left, right):
        axes.set_xscale("log", base=4)
        axes.set_yscale("log")
        axes.set_xticks(curve["x"][::2], [bytes_text(size) for size in curve["x"][::2]])
        axes.xaxis.set_minor_locator(NullLocator())
    left.set_title("Bandwidth of a copy to the host (GB/s)")
    left.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    right.set_title("Time of one copy")
    right.yaxis.set_major_formatter(FuncFormatter(lambda value, _: seconds_text(value)))
    figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def draw_scaling(curves: dict[str, Curve]) -> Any:
    """Draw exchange by rank and by live exports, and throughput by threads."""
    figure, (ranks, live, threads) = plt.subplots(1, 3, figsize=(12.5, 4.3))
    for axes, key in ((ranks, "ranks"), (live, "live_exports")):
        draw_lines(axes, curves[key], lambda _, seconds, __: 1e9 * seconds)
        axes.set_ylim(0, 1.12 * axes.dataLim.y1)
    # n threads do n runs in the time of one.
    draw_lines(threads, curves["threads"], lambda n, seconds, alone: alone * n / seconds)
    ranks.set_title("Number of axes (ns)")
    live.set_title("Live exports of other arrays (ns)")
    live.set_xscale("log")
    live.sharey(ranks)
    threads.set_title("Throughput by threads (one thread: 1)")
    threads.set_xticks(curves["threads"]["x"])
    threads.set_ylim(0, max(2.2, 1.1 * threads.dataLim.y1))
    live.legend()
    threads.legend()
    return figure


def draw_all(outcomes: Sequence[Outcome], curves: dict[str, Curve], folder: Path) -> list[Path]:
    """Draw every plot into a folder: the same bytes for the same numbers."""
    with mpl.rc_context({**STYLE, "figure.dpi": 110, "figure.constrained_layout.use": True}):
        plots = {
            "figures": draw_figures(outcomes),
            "exchange": draw_exchange(curves["exchange"]),
            "bandwidth": draw_bandwidth(curves["bandwidth"]),
            "scaling": draw_scaling(curves),
        }
        paths = []
        for name, plot in plots.items():
            paths.append(folder / f"benchmarks-{name}.png")
            plot.savefig(paths[-1], metadata={"Software": None}, facecolor="white")
            plt.close(plot)
    return paths
