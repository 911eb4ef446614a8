# SPDX-License-Identifier: Apache-2.0
"""The plots of ``docs/benchmarks.md``, drawn from the numbers of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.colors import LinearSegmentedColormap, LogNorm
from matplotlib.ticker import FuncFormatter, NullLocator

from benchmarks.curves import Curve
from benchmarks.outcome import Outcome

__all__ = ["draw_all"]

INK, FAINT, GRID = "#1f2933", "#6b7785", "#e3e8ee"
OURS, OURS_TOO, OURS_THREE = "#0b63c5", "#5aa9ff", "#0a8f86"
PEER, PEER_TOO, FLOOR, MISSED = "#e07b00", "#b23a7a", "#8b95a1", "#c62f2f"

#: The axis of the figures: margins beyond it are drawn at its ends.
LEAST, MOST = 0.22, 40.0

STYLE = {
    "figure.dpi": 110,
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#b8c1cc",
    "axes.titlesize": 10.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "legend.frameon": False,
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
    for unit in ("B", "KB", "MB"):
        if nbytes < 1024:
            return f"{nbytes:.0f} {unit}"
        nbytes /= 1024
    return f"{nbytes:.0f} GB"


def save(figure: Any, path: Path) -> None:
    """Write a figure, the same bytes for the same numbers."""
    figure.savefig(path, metadata={"Software": None}, facecolor="white")
    plt.close(figure)


# ---- figures -------------------------------------------------------------------------------------


def draw_figures(outcomes: Sequence[Outcome], path: Path) -> None:
    """Draw how many times better than its reach each figure is, with its floor."""
    rows = list(outcomes)[::-1]
    figure, axes = plt.subplots(figsize=(10.5, 0.27 * len(rows) + 1.5), layout="constrained")
    axes.set_xscale("log")
    axes.axvline(1, color=INK, linewidth=1)
    axes.grid(axis="y", visible=False)
    for y, outcome in enumerate(rows):
        reach, reached = outcome.reach, outcome.reached
        color = OURS if outcome.met else MISSED
        low, median, high = (
            min(max(reach.margin(max(value, 1e-9)), LEAST), MOST)
            for value in (reached.low, reached.median, reached.high)
        )
        axes.plot([low, high], [y, y], color=color, alpha=0.35, linewidth=5)
        axes.plot(median, y, "o", color=color, markersize=5.5)
        if outcome.floor and LEAST < reach.margin(outcome.floor) < MOST:
            axes.plot(reach.margin(outcome.floor), y, "|", color=FLOOR, markersize=10, mew=1.8)
    axes.set_yticks(range(len(rows)), [shortened(row.name) for row in rows], fontsize=7.6)
    axes.tick_params(axis="y", colors=INK, length=0)
    axes.set_ylim(-0.8, len(rows) - 0.2)
    axes.set_xlim(LEAST * 0.9, MOST * 1.1)
    ticks = (0.25, 0.5, 1, 2, 4, 8, 16, 32)
    axes.set_xticks(ticks, [f"{tick:g} x" for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("times better than the reach (right of the line: reached)")
    handles = [
        plt.Line2D([], [], color=OURS, marker="o", linewidth=5, alpha=0.8, label="reached"),
        plt.Line2D([], [], color=MISSED, marker="o", linewidth=5, alpha=0.8, label="missed"),
        plt.Line2D([], [], color=FLOOR, marker="|", linestyle="", markersize=10, label="floor"),
    ]
    figure.legend(handles=handles, ncols=3, loc="outside upper right", fontsize=8.5)
    axes.set_title("Median and quartiles of each figure, and its floor")
    save(figure, path)


def shortened(name: str) -> str:
    """Return a name that leaves room for the plot."""
    for long, short in (
        ("stand-in GPU, device to host", "stand-in GPU"),
        (" of the like", ""),
        ("its own single memcpy", "one memcpy"),
        ("both ", ""),
        ("`np.ascontiguousarray`", "NumPy's"),
        ("`", ""),
    ):
        name = name.replace(long, short)
    return name if len(name) <= 76 else name[:74].rstrip(" ,") + " …"


# ---- exchange ------------------------------------------------------------------------------------


def draw_exchange(curve: Curve, path: Path) -> None:
    """Draw the time of each consumer for each producer's array."""
    consumers, producers, seconds = curve["consumers"], curve["producers"], curve["seconds"]
    figure, axes = plt.subplots(figsize=(10, 4.6), layout="constrained")
    values = [value for row in seconds for value in row if value is not None]
    colors = LinearSegmentedColormap.from_list(
        "time", ["#dff3e4", "#9fd6c6", "#f7e3a1", "#f0a868", "#c8553d"]
    )
    norm = LogNorm(min(values), max(values))
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    for y, row in enumerate(seconds):
        for x, value in enumerate(row):
            face = "#f4f6f8" if value is None else colors(norm(value))
            axes.add_patch(plt.Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, facecolor=face))
            text = "refused" if value is None else seconds_text(value)
            ours = "sycl_ext" in consumers[y] or "sycl_ext" in producers[x]
            axes.text(
                x,
                y,
                text,
                ha="center",
                va="center",
                color="#a6afba" if value is None else INK,
                fontsize=8 if value is None else 10,
                fontweight="bold" if ours and value is not None else "normal",
            )
    axes.set_xlim(-0.5, len(producers) - 0.5)
    axes.set_ylim(len(consumers) - 0.5, -0.5)
    axes.set_xticks(range(len(producers)), producers, color=INK)
    axes.set_yticks(range(len(consumers)), consumers, color=INK)
    axes.tick_params(length=0)
    axes.xaxis.tick_top()
    axes.set_ylabel("imported by")
    axes.set_xlabel("array of")
    axes.xaxis.set_label_position("top")
    figure.suptitle(
        "One zero-copy exchange of a 4 x 4 array", x=0.01, ha="left", fontsize=11, weight="bold"
    )
    save(figure, path)


# ---- bandwidth -----------------------------------------------------------------------------------

BANDWIDTH_COLORS = (OURS, OURS_TOO, PEER, PEER_TOO, FLOOR)


def draw_bandwidth(curve: Curve, path: Path) -> None:
    """Draw bytes per second by size, and the time of the small ones."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    sizes = curve["x"]
    for (name, points), color in zip(curve["lines"].items(), BANDWIDTH_COLORS, strict=True):
        style = {"color": color, "label": name, "linewidth": 2, "marker": "o", "markersize": 3}
        if color == FLOOR:
            style |= {"linestyle": "--", "linewidth": 1.5}
        low, median, high = zip(*points, strict=True)
        rate = [[n / t / 1e9 for n, t in zip(sizes, s, strict=True)] for s in (low, median, high)]
        left.plot(sizes, rate[1], **style)
        left.fill_between(sizes, rate[2], rate[0], color=color, alpha=0.13, linewidth=0)
        right.plot(sizes, median, **style)
    for axes in (left, right):
        axes.set_xscale("log", base=4)
        axes.set_yscale("log")
        axes.set_xticks(sizes[::2], [bytes_text(size) for size in sizes[::2]])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_minor_locator(NullLocator())
    left.set_title("Bandwidth of a copy to the host (GB/s)")
    left.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    right.set_title("Time of one copy")
    right.yaxis.set_major_formatter(FuncFormatter(lambda value, _: seconds_text(value)))
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    save(figure, path)


# ---- more of something ---------------------------------------------------------------------------

LINE_COLORS = {
    "t.__dlpack__()": (OURS_TOO, "-"),
    "NumPy's __dlpack__()": (PEER, "--"),
    "sx.from_dlpack(t)": (OURS, "-"),
    "np.from_dlpack(a)": (PEER_TOO, "--"),
    "sx.from_dlpack(a)": (OURS_THREE, "-"),
    "t.to_numpy(copy=True), 4 MB": (OURS_TOO, "-"),
    "np.copy(a), 4 MB": (PEER, "--"),
}


def draw_scaling(curves: dict[str, Curve], path: Path) -> None:
    """Draw exchange by rank and by live exports, and throughput by threads."""
    figure, panels = plt.subplots(1, 3, figsize=(12.5, 4.3), layout="constrained")
    for axes, key in zip(panels, ("ranks", "live_exports", "threads"), strict=True):
        curve = curves[key]
        for name, points in curve["lines"].items():
            low, median, high = zip(*points, strict=True)
            color, line = LINE_COLORS[name]
            if key == "threads":
                # n threads do n runs in the time of one
                one = median[0]
                low, median, high = (
                    [one * n / t for n, t in zip(curve["x"], times, strict=True)]
                    for times in (high, median, low)
                )
            else:
                low, median, high = ([1e9 * t for t in times] for times in (low, median, high))
            axes.plot(curve["x"], median, line, color=color, label=name, marker="o", markersize=3.5)
            axes.fill_between(curve["x"], low, high, color=color, alpha=0.13, linewidth=0)
        axes.set_ylim(bottom=0)
    ranks, live, threads = panels
    ranks.set_title("Number of axes (ns)")
    live.set_title("Live exports of other arrays (ns)")
    live.set_xscale("log")
    live.set_xticks(
        curves["live_exports"]["x"], [f"{count:,}" for count in curves["live_exports"]["x"]]
    )
    live.xaxis.set_minor_locator(NullLocator())
    for axes in (ranks, live):
        axes.set_ylim(0, 1.12 * axes.dataLim.y1)
    live.sharey(ranks)
    threads.set_title("Throughput by threads (one thread: 1)")
    threads.set_xticks(curves["threads"]["x"])
    threads.set_ylim(0, max(2.2, 1.1 * threads.dataLim.y1))
    for axes, columns in ((live, 1), (threads, 1)):
        axes.legend(fontsize=8, ncols=columns)
    save(figure, path)


def draw_all(
    outcomes: Sequence[Outcome], curves: dict[str, Curve], folder: Path
) -> dict[str, Path]:
    """Draw every plot into a folder; return them by name."""
    paths = {
        name: folder / f"benchmarks-{name}.png"
        for name in ("figures", "exchange", "bandwidth", "scaling")
    }
    with mpl.rc_context(STYLE):
        draw_figures(outcomes, paths["figures"])
        draw_exchange(curves["exchange"], paths["exchange"])
        draw_bandwidth(curves["bandwidth"], paths["bandwidth"])
        draw_scaling(curves, paths["scaling"])
    return paths
