# SPDX-License-Identifier: Apache-2.0
"""The process of a part: runs its rows, and reports each as it begins and as it ends.

`processes` starts it with an order, which names the part, the device, and a file: `main` appends
lines of JSON to that file, so that its last line names the row in which the process died.
"""

import importlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import sycl_ext as sx
from sycl_ext_hardware.samples import Cannot, DidNotHoldError, NothingShown, Row
from sycl_ext_hardware.setup import Setup

#: How often a row is tried whose work was done too early; each time the work is longer.
TRIES = 4


def with_longer_work(setup: Setup, function: Callable[[], str | dict[str, float] | None]) -> Any:
    """Run a row, and again with longer work if the work was done too early to show anything."""
    for _ in range(TRIES - 1):
        try:
            return function()
        except NothingShown:
            setup.lengthen()
    return function()


def result_of(
    setup: Setup, function: Callable[[], str | dict[str, float] | None]
) -> dict[str, Any]:
    """Run a row, and return its verdict, with detail or figures."""
    try:
        result = with_longer_work(setup, function)
    except Cannot as reason:
        return {"verdict": "cannot", "detail": str(reason)}
    except DidNotHoldError as problem:
        return {"verdict": "did not hold", "detail": str(problem)}
    except Exception as error:
        return {"verdict": "did not hold", "detail": f"{type(error).__name__}: {error}"}
    if isinstance(result, dict):
        return {"verdict": "held", "detail": "", "figures": result}
    return {"verdict": "held", "detail": result or ""}


def main(order: dict[str, Any]) -> None:
    """Run the rows of a part, except those to skip."""

    def tell(**record: Any) -> None:
        with Path(order["report"]).open("a") as file:
            print(json.dumps(record), file=file, flush=True)

    device = sx.device(order["device"])
    setup = Setup(device, quick=order["quick"], kernels=order["kernels"])
    for name, function in rows_of(order["module"], setup):
        if name in order["skip"]:
            continue
        tell(begin=name)
        begin = time.perf_counter()
        result = result_of(setup, function)
        tell(row=name, seconds=round(time.perf_counter() - begin, 3), **result)
    tell(end=True)


def rows_of(module: str, setup: Setup) -> Iterator[Row]:
    """Return the rows of a part."""
    if setup.device.usm_types:
        return iter(importlib.import_module(module).rows(setup))

    def has_none() -> None:
        raise Cannot("its driver does not support USM")

    return iter([("everything", has_none)])
