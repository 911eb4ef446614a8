# SPDX-License-Identifier: Apache-2.0
"""``python -m benchmarks.answers``: how soon a driver reports that a queue is idle.

`soon` in src/runtime/sycl/commands.hpp is chosen by it: so long a question to an idle queue polls
before the answer is `pending`.
"""

from __future__ import annotations

import statistics
import time

import dpctl

RUNS = 20_000


def main() -> None:
    """Print how long a barrier on an idle queue takes to submit, and then to end."""
    queue = dpctl.SyclQueue("opencl:cpu")
    complete = dpctl.event_status_type.complete
    times = []
    for _ in range(RUNS):
        start = time.perf_counter()
        event = queue.submit_barrier()
        submitted = time.perf_counter()
        while event.execution_status != complete:
            pass
        times.append((1e6 * (submitted - start), 1e6 * (time.perf_counter() - submitted)))
    for name, column in zip(("submission", "end after it"), zip(*times, strict=True), strict=True):
        percentiles = statistics.quantiles(column, n=100)
        print(f"{name}: median {percentiles[49]:.1f} µs, 99 % {percentiles[98]:.1f} µs")


if __name__ == "__main__":
    main()
