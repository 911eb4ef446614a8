# SPDX-License-Identifier: Apache-2.0
"""The plots of the two pages of benchmarks, drawn from the numbers of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.colors import LogNorm
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, NullLocator

from benchmarks.curves import Curve
from benchmarks.report import seconds_text

__all__ = ["draw_all", "save_growth"]

OURS, OURS_TOO = "#1f74d6", "#5aa9ff"
PEER, PEER_TOO, BOUND = "#e07b00", "#c2478a", "#8b95a1"
#: Of text and axes: readable on white and on black, as the background is transparent.
INK = "#777c85"
STYLE = {
    "font.size": 11,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": INK,
    "grid.alpha": 0.22,
    "legend.frameon": False,
    "legend.fontsize": 11,
}
#: How each line is drawn.
LINES = {
    "sycl_ext: to_numpy(copy=True)": (OURS, "-"),
    "sycl_ext: copy_from, into memory in use": (OURS_TOO, "-"),
    "NumPy: array.copy()": (PEER, "-"),
    "dpnp: asnumpy": (PEER_TOO, "-"),
    "memcpy, into memory in use": (BOUND, "--"),
}


def bytes_text(nbytes: float) -> str:
    """Return "4 B", "16 KB", ..."""
    for unit in ("B", "KB"):
        if nbytes < 1024:
            return f"{nbytes:.0f} {unit}"
        nbytes /= 1024
    return f"{nbytes:.0f} MB"


def limits(values: Iterable[float]) -> tuple[float, float]:
    """Return the least and the most."""
    numbers = list(values)
    return min(numbers), max(numbers)


def draw_exchange(curve: Curve) -> Any:
    """Draw the time of each consumer for each producer's array: large, as a phone shrinks it."""
    consumers, producers, seconds = curve["consumers"], curve["producers"], curve["seconds"]
    figure, axes = plt.subplots(figsize=(8, 6))
    scale = LogNorm(*limits(value for row in seconds for value in row if value is not None))
    colors = mpl.colormaps["Blues"]
    for y, row in enumerate(seconds):
        for x, value in enumerate(row):
            if value is None:
                axes.text(x, y, "\N{EN DASH}", ha="center", va="center", fontsize=15)
                continue
            color = colors(0.08 + 0.5 * scale(value))
            axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, color=color, linewidth=0))
            number, unit = seconds_text(value).split()
            style = {"ha": "center", "va": "center", "color": "black", "fontsize": 15}
            axes.text(x, y, f"{number}\n{unit}", **style)
    axes.set_xlim(-0.5, len(producers) - 0.5)
    axes.set_ylim(len(consumers) - 0.5, -0.5)
    axes.grid(visible=False)
    turned = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"}
    axes.set_xticks(range(len(producers)), producers, fontsize=15, **turned)
    axes.set_yticks(range(len(consumers)), consumers, fontsize=15)
    axes.set_xlabel("array of", fontsize=15)
    axes.set_ylabel("imported by", fontsize=15)
    return figure


def draw_lines(axes: Any, curve: Curve, scale: Any) -> None:
    """Draw medians between their quartiles, by a function of x and the seconds."""
    for name, points in curve["lines"].items():
        color, line = LINES[name]
        low, median, high = (
            [scale(x, t) for x, t in zip(curve["x"], times, strict=True)]
            for times in zip(*points, strict=True)
        )
        axes.plot(curve["x"], median, line, color=color, label=name, marker="o", markersize=3)
        axes.fill_between(curve["x"], low, high, color=color, alpha=0.13, linewidth=0)


def draw_bandwidth(curve: Curve) -> Any:
    """Draw bytes per second by size, and the time of the small ones."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5))
    draw_lines(left, curve, lambda nbytes, seconds: nbytes / seconds / 1e9)
    draw_lines(right, curve, lambda _, seconds: seconds)
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


def draw_all(curves: dict[str, Curve], folder: Path) -> list[Path]:
    """Draw every plot into a folder: the same bytes for the same numbers."""
    with mpl.rc_context({**STYLE, "figure.dpi": 110, "figure.constrained_layout.use": True}):
        plots = {
            "exchange": draw_exchange(curves["exchange"]),
            "bandwidth": draw_bandwidth(curves["bandwidth"]),
        }
        paths = []
        for name, plot in plots.items():
            paths.append(folder / f"benchmarks-{name}.png")
            plot.savefig(paths[-1], metadata={"Software": None}, transparent=True)
            plt.close(plot)
    return paths


def save_growth(
    curves: dict[str, tuple[str, dict[str, list[tuple[int, float]]]]],
    places: dict[str, str],
    cost: Callable[[str, float], str],
    path: Path,
) -> None:
    """Draw one small plot for each cost, by what is counted, with a line for each place."""
    style = {**STYLE, "figure.dpi": 100, "figure.constrained_layout.use": True}
    with mpl.rc_context(style):
        rows = -(-len(curves) // 2)
        figure, grid = plt.subplots(rows, 2, figsize=(9, 2.6 * rows), squeeze=False)
        for axes in grid.flat[len(curves) :]:
            axes.set_visible(False)
        for axes, (name, (counted, lines)) in zip(grid.flat, curves.items(), strict=False):
            for color, (place, points) in zip((OURS, PEER), lines.items(), strict=True):
                axes.plot(*zip(*points, strict=True), color=color, marker="o", label=places[place])
            axes.set_xscale("log")
            axes.set_yscale("log")
            low, high = limits(value for points in lines.values() for _, value in points)
            axes.set_ylim(low / 3, high * 3)
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _, n=name: cost(n, value)))
            axes.yaxis.set_minor_locator(NullLocator())
            axes.set_title(name, fontsize=11)
            axes.set_xlabel(counted)
        figure.legend(
            *grid.flat[0].get_legend_handles_labels(), loc="outside lower center", ncols=2
        )
        figure.savefig(path, metadata={"Software": None}, transparent=True)
        plt.close(figure)
