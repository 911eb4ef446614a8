# SPDX-License-Identifier: Apache-2.0
"""The speed of copies and of the runtime's own copies by dpctl, and the cost of small calls."""

import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

import sycl_ext as sx
from sycl_ext_hardware.late import memory_of
from sycl_ext_hardware.samples import Cannot, Row, expect, numbers
from sycl_ext_hardware.setup import NEW, OLD, Setup, sized

#: Source and target of a copy: memory of NumPy is pageable, and host USM is pinned.
COPIES = (
    ("pageable", "device"),
    ("device", "pageable"),
    ("host", "device"),
    ("device", "host"),
    ("device", "device"),
    ("shared", "device"),
    ("device", "shared"),
)
NAMES = {"pageable": "pageable memory", "host": "pinned memory (host USM)"}


def rows(setup: Setup) -> Iterator[Row]:
    """Yield the rows of this part."""
    for (source, target), nbytes in product(COPIES, setup.size.bandwidth):
        names = [NAMES.get(kind, f"{kind} USM") for kind in (source, target)]
        name = f"{names[0]} to {names[1]}, {sized(nbytes)}"
        yield name, partial(speed, setup, source, target, nbytes)
    for name, call in CALLS.items():
        yield f"{name}, 16 elements", partial(cost, setup, call)


def memory(setup: Setup, kind: str, first: int, nbytes: int) -> tuple[Any, Any]:
    """Return memory as this package takes it, and as dpctl does."""
    data = numbers(first, nbytes)
    if kind == "pageable":
        return data, data.view("uint8")
    if kind not in setup.kinds:
        raise Cannot(f"it allocates no {kind} USM")
    tensor = setup.tensor(kind, data)
    return tensor, memory_of(tensor)


def speed(setup: Setup, source: str, target: str, nbytes: int) -> dict[str, float]:
    """Measure copies of this package and of the runtime, by turns."""
    if 8 * nbytes > setup.device.sycl_device.global_mem_size:
        raise Cannot("its memory is too small for such copies")
    ours_from, theirs_from = memory(setup, source, NEW, nbytes)
    ours_to, theirs_to = memory(setup, target, OLD, nbytes)
    queue = setup.device.sycl_queue

    def copy() -> None:
        if isinstance(ours_to, np.ndarray):
            sx.as_tensor(ours_from).to_numpy(copy=True)
        else:
            ours_to.copy_from(ours_from)

    def copy_by_the_runtime() -> None:
        queue.memcpy(theirs_to, theirs_from, nbytes)

    ours, theirs = medians(copy, copy_by_the_runtime)
    expect(theirs_to, numbers(NEW, nbytes), "the copy")
    return {
        "GB/s": round(nbytes / ours / 1e9, 3),
        "GB/s of the runtime": round(nbytes / theirs / 1e9, 3),
        "ratio": round(theirs / ours, 2),
    }


def medians(*calls: Callable[[], object], times: int = 7) -> list[float]:
    """Return the median time of each call in seconds, made by turns."""
    taken: list[list[float]] = [[] for _ in calls]
    for _ in range(times + 1):
        for call, seconds in zip(calls, taken, strict=True):
            begin = time.perf_counter()
            call()
            seconds.append(time.perf_counter() - begin)
    return [statistics.median(seconds[1:]) for seconds in taken]


#: Small calls: name -> made with a tensor of 16 elements.
CALLS: dict[str, Callable[[sx.Tensor], object]] = {
    "empty": lambda t: sx.empty(16, "int64", device=t.device),
    "__dlpack__": lambda t: t.__dlpack__(max_version=(1, 0)),
    "from_dlpack": sx.from_dlpack,
    "to_numpy": lambda t: t.to_numpy(copy=True),
    "copy_from": lambda t: t.copy_from(t),
}


def cost(setup: Setup, call: Callable[[sx.Tensor], object], times: int = 200) -> dict[str, float]:
    """Measure a call in microseconds."""
    tensor = setup.tensor(setup.kinds[0], numbers(NEW, 128))

    def many() -> None:
        for _ in range(times):
            call(tensor)

    return {"us": round(medians(many)[0] / times * 1e6, 2)}
