# SPDX-License-Identifier: Apache-2.0
"""Gives arrays to one consumer: ``python worker.py CONSUMER FIRST_CASE``

Prints a line of JSON before and after each case, so that a crash shows which case it was.
"""

from __future__ import annotations

import gc
import json
import sys
from typing import Any

import numpy as np

import quirks
import sycl_ext as sx
from consumers import ROWS, Consumer

WAYS = ("direct", "host_view", "exchange")
#: Where the memory is: (device, kind of USM).
MEMORIES = {
    "device": ("opencl:cpu", "device"),
    "shared": ("opencl:cpu", "shared"),
    "host": ("opencl:cpu", "host"),
    "GPU device": ("level_zero:gpu:0", "device"),
}
CASES = [
    (way, memory, readonly) for way in WAYS for memory in MEMORIES for readonly in (False, True)
]
VALUES = np.arange(12, dtype=np.float32).reshape(3, 4)


def array_in(memory: str, readonly: bool) -> sx.Tensor:
    device, usm_type = MEMORIES[memory]
    tensor = sx.empty(VALUES.shape, VALUES.dtype, usm_type=usm_type, device=device)
    tensor.copy_from(VALUES)
    return tensor.as_readonly() if readonly else tensor


def hand_over(way: str, x: sx.Tensor, consumer: Any, take: Any) -> Any:
    if way == "exchange":
        return sx.exchange(x, consumer)
    return take(sx.host_view(x) if way == "host_view" else x)


def outcome(row: Consumer, way: str, x: sx.Tensor, consumer: Any, take: Any) -> dict[str, Any]:
    try:
        result = hand_over(way, x, consumer, take)
    except Exception as error:
        return {"outcome": type(error).__name__, "text": str(error)}
    address, values = row.address(result), row.values(result)
    return {
        "outcome": "view" if address == x.ptr else "copy",
        "writable": bool(row.writable(result)),
        "right": None if values is None else bool(np.array_equal(np.ravel(values), VALUES.ravel())),
        "planned_copies": sx.explain(x, consumer).copies if way == "exchange" else None,
    }


def cases_of(name: str) -> list[tuple]:
    """All cases of a consumer: those of the matrix, and of its row in the table of consumers."""
    return CASES + quirks.cases_of(name)


def main(name: str, first: int) -> None:
    row = ROWS[name]
    consumer, take = row.loaded()
    print(json.dumps({"version": row.version}), flush=True)
    before = sx.memory.live_exports()
    for number, case in enumerate(cases_of(name)):
        if number < first:
            continue
        print(json.dumps({"begin": number}), flush=True)
        if number < len(CASES):
            way, memory, readonly = case
            taken = outcome(row, way, array_in(memory, readonly), consumer, take)
        else:
            taken = quirks.take_case(row, case, consumer)
        gc.collect()
        taken["leaked"] = sx.memory.live_exports() - before
        print(json.dumps({"end": number, **taken}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
