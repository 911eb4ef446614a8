# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.growth``: how costs grow, and what that means for many GPUs.

Counts tensors, contexts, threads and processes up, on the CPU device and on a simulated node of 8
GPUs with 2 tiles each, and writes docs/develop/scaling.md with its picture. The times are of the
processor, so other work of the machine hardly matters. With ``--smoke`` it only prints.
"""

from __future__ import annotations

import json
import math
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.build import environments
from benchmarks.isolated import resident, run_json
from benchmarks.report import number, seconds_text, with_block
from benchmarks.scale import GPUS, MIB, PAGE, TILES, node

RANKS = GPUS * TILES
NODES = 1000
#: The places -> their names in the picture.
PLACES = {"cpu": "CPU device", "node": "simulated node of 8 GPUs"}
#: The points of a curve: what is counted, and the cost.
Points = list[tuple[int, float]]


def _seconds(work: Callable[[], object], runs: int, clock: Callable[[], float]) -> float:
    """Return the least time of one run, of five rounds."""
    rounds = []
    for _ in range(5):
        start = clock()
        for _ in range(runs):
            work()
        rounds.append((clock() - start) / runs)
    return min(rounds)


def _entries(folder: str) -> int:
    """Count open files ("fd") or threads ("task") of this process."""
    return sum(1 for _ in Path("/proc/self", folder).iterdir())


# ---- in processes that see the devices; each prints its points -----------------------------------


def tensors(steps: list[int]) -> dict[str, Points]:
    """Tensors with an export each, all alive."""
    import sycl_ext as sx

    device, version = sx.device(), sx.dlpack.VERSION

    def make() -> object:
        return sx.empty(4, device=device).__dlpack__(max_version=version)

    held = [make() for _ in range(100)]
    held.clear()
    before, times, sizes = resident("VmRSS"), [], []
    for count in steps:
        held += [make() for _ in range(count - len(held))]
        times.append((count, _seconds(make, 500, time.thread_time)))
        sizes.append((count, float(max(resident("VmRSS") - before, 1))))
    return {"a tensor and its export": times, "memory of all tensors": sizes}


def contexts(steps: list[int]) -> dict[str, Points]:
    """Registered private contexts, an entry of the device table each."""
    import dpctl
    import numpy as np

    import sycl_ext as sx

    root, made = sx.device(), 0
    held: list[sx.Device] = []

    def meet() -> None:
        held.append(sx.register_context(dpctl.SyclContext([root.sycl_device])))

    points: dict[str, Points] = {
        "a new context": [],
        "a look-up by id": [],
        "an import from NumPy": [],
    }
    for count in steps:
        while made < count - 5:
            meet()
            made += 1
        points["a new context"].append((count, _seconds(meet, 1, time.thread_time)))
        made += 5
        last = held[-1].id
        points["a look-up by id"].append(
            (count, _seconds(lambda number=last: sx.device(number), 500, time.thread_time))
        )
        points["an import from NumPy"].append(
            (count, _seconds(lambda: sx.from_dlpack(np.empty(1000)), 100, time.thread_time))
        )
    return points


def threads(steps: list[int]) -> dict[str, Points]:
    """Threads that import and export one tensor each, at the same time."""
    import sycl_ext as sx

    def many(_: int) -> None:
        t = sx.zeros(4)
        for _ in range(2000):
            sx.from_dlpack(t)

    points = []
    for count in steps:
        with ThreadPoolExecutor(count) as pool:
            list(pool.map(many, range(count)))
            start = time.process_time()
            list(pool.map(many, range(count)))
            points.append((count, (time.process_time() - start) / count / 2000))
    return {"an import in one of the threads": points}


def rank(_: list[int]) -> dict[str, float]:
    """One rank: what it has after the first exchange."""
    start, before = time.process_time(), resident("VmRSS")
    import numpy as np

    import sycl_ext as sx

    sx.from_dlpack(np.ones(4), copy=True).to_numpy()
    return {
        "seconds": time.process_time() - start,
        "memory": resident("VmRSS") - before,
        "files": _entries("fd"),
        "threads": _entries("task"),
        "entries": len(sx.devices()),
    }


def handles(steps: list[int]) -> dict[str, float]:
    """What the handles of other ranks cost a rank that opens them."""
    import sycl_ext as sx

    count, device = steps[0], sx.device()
    blocks = [sx.ipc.empty(1000, device=device) for _ in range(count)]
    before = _entries("fd")
    made_here = [sx.ipc.handle(block) for block in blocks]  # kept until they are opened
    messages = [pickle.dumps(handle) for handle in made_here]
    made = _entries("fd") - before
    command = [sys.executable, "-m", "benchmarks.growth", "opened", "[]"]
    done = subprocess.run(command, input=pickle.dumps(messages), capture_output=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return {"bytes": len(messages[0]), "files of the maker": made / count, **figures}


def opened(_: list[int]) -> dict[str, float]:
    """Open the handles of another process."""
    import sycl_ext as sx

    messages = pickle.load(sys.stdin.buffer)
    sx.zeros(1).to_numpy()
    before = _entries("fd")
    start = time.process_time()
    held = [sx.ipc.open(pickle.loads(message)) for message in messages]
    seconds = (time.process_time() - start) / len(held)
    files = (_entries("fd") - before) / len(held)
    return {"seconds to open": seconds, "files of the opener": files}


JOBS: dict[str, tuple[Callable[[list[int]], Any], list[int]]] = {
    "tensors": (tensors, [1_000, 10_000, 100_000]),
    "contexts": (contexts, [10, 30, 100, 300, 1_000]),
    "threads": (threads, [1, 2, 4, 8, 16, 32, 64]),
}


# ---- sentences and tables ------------------------------------------------------------------------


def growth(points: Points) -> float:
    """Return the exponent of the growth between the first point and the last."""
    (low, first), (high, last) = points[0], points[-1]
    return math.log(last / first) / math.log(high / low)


def shape(points: Points) -> str:
    """Return how a cost grows, in a word."""
    exponent = growth(points)
    return "flat" if exponent < 0.15 else "less than linear" if exponent < 0.8 else "linear"


def cost(name: str, value: float) -> str:
    """Return a cost with its unit."""
    return f"{number(value / MIB)} MiB" if "memory" in name else seconds_text(value)


def sentence(name: str, counted: str, curves: dict[str, Points]) -> str:
    """Say how one cost grows in both places."""
    clauses = []
    for place, points in curves.items():
        (low, first), (high, last) = points[0], points[-1]
        clauses.append(
            f"{shape(points)} on the {PLACES[place]} ({cost(name, first)} with {low:,}, "
            f"{cost(name, last)} with {high:,})"
        )
    return f"- **{name[0].upper()}{name[1:]}**, by {counted}: {'; '.join(clauses)}."


def bytes_text(value: float) -> str:
    """Return "122 MiB", "1.9 GiB", ..."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{number(value)} {unit}"
        value /= 1024
    return f"{number(value)} TiB"


def plan(of_rank: dict[str, float], shared: dict[str, float]) -> str:
    """Return the table of a rank, a node and many nodes."""
    peers = RANKS - 1

    def row(name: str, value: float, text: Callable[[float], str]) -> str:
        cells = (text(value), text(value * RANKS), text(value * RANKS * NODES))
        return f"| {name} | {' | '.join(cells)} |"

    def count(value: float) -> str:
        return f"{value:,.0f}"

    return "\n".join(
        [
            f"| | a rank | a node, {RANKS} ranks | {NODES:,} nodes |",
            "|---|---|---|---|",
            row("start-up, seconds of a processor", of_rank["seconds"], number),
            row("memory of libraries and drivers", of_rank["memory"], bytes_text),
            row("open files after the first exchange", of_rank["files"], count),
            row("threads", of_rank["threads"], count),
            row("entries of the device table", of_rank["entries"], count),
            row("handles of the other ranks of the node, opened", peers, count),
            row("descriptors that it opens for them", peers * shared["files of the opener"], count),
            row(
                "descriptors for its own block, all openers together",
                shared["files of the maker"],
                count,
            ),
            row("bytes of these handles in messages", peers * shared["bytes"], bytes_text),
            row("seconds of a processor to open them", peers * shared["seconds to open"], number),
        ]
    )


# ---- in the process that asks --------------------------------------------------------------------


def measure(smoke: bool) -> tuple[dict[str, tuple[str, dict[str, Points]]], str]:
    """Return the curves, and the table of the plan."""
    where = {"cpu": environments.cpu(), "node": node()}

    def job(place: str, name: str, steps: Iterable[int]) -> Any:
        words = ("-m", "benchmarks.growth", name, json.dumps(list(steps)))
        variables = {**environments.clean_environment(), **where[place]}
        return run_json(*words, variables=variables)

    curves: dict[str, tuple[str, dict[str, Points]]] = {}
    for counted, (_, steps) in JOBS.items():
        for place in PLACES:
            for name, points in job(place, counted, steps[:2] if smoke else steps).items():
                curves.setdefault(name, (counted, {}))[1][place] = points
    counts = [1, 2] if smoke else [1, 2, 4, 8, 16]
    for place in PLACES:
        sums: Points = []
        for count in counts:
            with ThreadPoolExecutor(count) as pool:
                ranks = list(pool.map(lambda _, place=place: job(place, "rank", []), range(count)))
            sums.append((count, sum(of_rank["seconds"] for of_rank in ranks)))
        curves.setdefault("start-up of all processes", ("processes", {}))[1][place] = sums
    return curves, plan(job("node", "rank", []), job("node", "handles", [RANKS - 1]))


def main(smoke: bool) -> None:
    """Measure, print, and write the page."""
    curves, table = measure(smoke)
    sentences = "\n".join(sentence(name, *curve) for name, curve in curves.items())
    print(sentences, table, sep="\n\n")
    if not smoke:
        from benchmarks.plots import save_growth

        save_growth(curves, PLACES, cost, PAGE.parent / "scaling-growth.png")
        page = with_block(PAGE.read_text(), "growth", sentences)
        PAGE.write_text(with_block(page, "plan", table))


if __name__ == "__main__":
    ALL: dict[str, Callable[[list[int]], Any]] = {name: job for name, (job, _) in JOBS.items()}
    ALL |= {"rank": rank, "handles": handles, "opened": opened}
    if sys.argv[1:2] and sys.argv[1] in ALL:
        print(json.dumps(ALL[sys.argv[1]](json.loads(sys.argv[2]))))
    else:
        main("--smoke" in sys.argv)
