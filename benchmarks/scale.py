# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.scale``: a node of 8 GPUs with 2 tiles each, on the stand-in driver.

Measures memory and processor time per operation, there and on the CPU device, and writes
docs/develop/scaling.md. With ``--smoke`` it takes few samples and only prints.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.build import ROOT, environments
from benchmarks.isolated import resident, run_json

if TYPE_CHECKING:
    import sycl_ext as sx

PAGE = ROOT / "docs" / "develop" / "scaling.md"
GPUS, TILES = 8, 2
MIB = 1 << 20


def _timed(work: Callable[[], object], runs: int) -> float:
    """Return the median time of one run in microseconds, of the processor."""
    times = []
    for _ in range(max(5, runs)):
        start = time.thread_time()
        work()
        times.append(1e6 * (time.thread_time() - start))
    return statistics.median(times)


# ---- in processes that see the node; each prints its rows ----------------------------------------


def start(tile: int, _: int) -> dict[str, str]:
    """One rank: the first exchange on its tile."""
    begin, before = time.process_time(), resident("VmRSS")
    import numpy as np

    import sycl_ext as sx

    gpus = [device for device in sx.devices() if device.device_type == "gpu"]
    tiles = [
        sub_device for gpu in gpus for sub_device in gpu.create_sub_devices("next_partitionable")
    ]
    device = tiles[tile] if tiles else None
    sx.from_dlpack(np.ones(4), device=device, copy=True).to_numpy()
    return {
        "entries of the device table": str(len(sx.devices())),
        "import, device table and first exchange": f"{time.process_time() - begin:.2f} s",
        "memory of a rank after it": f"{(resident('VmRSS') - before) / MIB:.0f} MiB",
    }


def exports(_: int, count: int) -> dict[str, str]:
    """Exports that are alive at the same time, each of a tensor of its own."""
    import sycl_ext as sx

    device = sx.device()
    version = sx.dlpack.VERSION

    def exported() -> object:
        return sx.empty(4, device=device).__dlpack__(max_version=version)

    held = [exported() for _ in range(100)]
    rows = {"a tensor and its export, none alive": f"{_timed(exported, 1000):.2f} µs"}
    before = resident("VmRSS")
    held += [exported() for _ in range(count)]
    rows[f"memory of one, of {count:,}"] = f"{(resident('VmRSS') - before) / count:.0f} B"
    rows[f"a tensor and its export, {count:,} alive"] = f"{_timed(exported, 1000):.2f} µs"
    begin = time.thread_time()
    size = len(held)
    held.clear()
    rows["giving one back"] = f"{1e6 * (time.thread_time() - begin) / size:.2f} µs"
    for nbytes in (1 << 10, 1 << 20):
        rows[f"a new array after an export, {nbytes >> 10:,} KiB"] = _after_export(device, nbytes)
    return rows


def _after_export(device: sx.Device, nbytes: int) -> str:
    """Return the time of a new tensor and its export to dpnp, each of which is dropped at once.

    The thread that frees works on another processor, so this is the time of the clock.
    """
    import dpnp

    import sycl_ext as sx

    times = []
    for _ in range(1000):
        start = time.perf_counter()
        dpnp.from_dlpack(sx.empty(nbytes, "uint8", device=device))
        times.append(1e6 * (time.perf_counter() - start))
    return f"{statistics.median(times):.0f} µs"


def contexts(_: int, count: int) -> dict[str, str]:
    """Private contexts that come and go, as in a day of a service."""
    import dpctl
    import numpy as np

    import sycl_ext as sx

    root = sx.device()

    def use() -> sx.Device:
        device = sx.device(dpctl.SyclQueue(dpctl.SyclContext([root.sycl_device]), root.sycl_device))
        sx.zeros(4, device=device).to_numpy()
        return device

    def new_array() -> object:
        return sx.from_dlpack(np.empty(1000))

    rows = {"a new NumPy array as a tensor, no private context": f"{_timed(new_array, 300):.2f} µs"}
    alive = [use() for _ in range(min(count, 300))]
    name = f"the same, {len(alive)} private contexts alive"
    rows[name] = f"{_timed(new_array, 300):.2f} µs"
    alive.clear()
    rows["a context met, used and dropped, at first"] = f"{_timed(use, 50):.0f} µs"
    before = resident("VmRSS")
    for _ in range(count):
        use()
    rows[f"the same after {count:,}"] = f"{_timed(use, 50):.0f} µs"
    rows["memory that one leaves"] = f"{(resident('VmRSS') - before) / count / 1024:.1f} KiB"
    rows[f"a new NumPy array as a tensor, {count:,} contexts gone"] = (
        f"{_timed(new_array, 300):.2f} µs"
    )
    return rows


JOBS: dict[str, tuple[Callable[[int, int], dict[str, str]], int]] = {
    "start": (start, 1),
    "exports": (exports, 100_000),
    # The stand-in driver has a thread for each command list, and twice as many would be too many.
    "contexts": (contexts, 5_000),
}


# ---- in the process that asks --------------------------------------------------------------------


def node() -> dict[str, str]:
    """Return the variables of a process that sees the node."""
    return {
        **environments.variables_of("level_zero_v2", Path()),
        "FAKEGPU_DEVICES": str(GPUS),
        "FAKEGPU_TILES": str(TILES),
    }


def main(smoke: bool) -> None:
    """Run the jobs, print their table, and write it to the page."""
    from benchmarks.report import with_block

    def job(where: dict[str, str], name: str, rank: int, count: int) -> dict[str, str]:
        words = ("-m", "benchmarks.scale", name, rank, count)
        return dict(run_json(*words, variables={**environments.clean_environment(), **where}))

    table = ["| operation | node of 16 tiles | CPU device |", "|---|---|---|"]
    for name, (_, count) in JOBS.items():
        count = count // 100 if smoke else count
        both = [job(where, name, 0, count) for where in (node(), environments.cpu())]
        table += [f"| {what} | {cost} | {both[1][what]} |" for what, cost in both[0].items()]
    begin = time.perf_counter()
    ranks = range(2 if smoke else GPUS * TILES)
    with ThreadPoolExecutor(len(ranks)) as pool:
        list(pool.map(lambda rank: job(node(), "start", rank, 1), ranks))
    table.append(
        f"| {len(ranks)} ranks at once on {os.cpu_count()} processors, until each has exchanged "
        f"on its tile | {time.perf_counter() - begin:.1f} s | |"
    )
    print("\n".join(table))
    if not smoke:
        PAGE.write_text(with_block(PAGE.read_text(), "table", "\n".join(table)))


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in JOBS:
        print(json.dumps(JOBS[sys.argv[1]][0](int(sys.argv[2]), int(sys.argv[3]))))
    else:
        main("--smoke" in sys.argv)
