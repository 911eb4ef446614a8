# SPDX-License-Identifier: Apache-2.0
"""Every public way into and out of a tensor while a kernel that uses its memory is pending.

A cell is a way (`pending_ways`), the queue that the kernel is on, and a kind of USM.  The kernel
waits for a gate that the test opens once the way has returned, or waits itself.  Then

- a way that reads must give what a pending kernel writes (`READS`),
- a way that writes must leave a pending kernel what was there before (`WRITES`),
- memory whose last holder is dropped must stay as it is until the kernel is done (`DROPS`).

`EXPECTED_FAILURES` lists the cells that fail today: whoever mends one takes its row out.
"""

from __future__ import annotations

import os
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import pytest

import environments
import sycl_ext as sx
from kernels import WATCH_MS, Gate, Kernels, is_usm
from pending_ways import (
    DROPS,
    NBYTES,
    NEW,
    OLD,
    ON_GPU,
    OTHER,
    QUEUES,
    READS,
    WRITES,
    Way,
    at,
    kernels_in,
    new_tensor,
    numbers,
    queue,
)

#: (what it does and the way, queue, kind of USM) -> why it fails.  The first row counts that fits:
#: "*" stands for anything, "a | b" is one of two, and no reason means that it does not fail.
EXPECTED_FAILURES: dict[tuple[str, str, str], str] = {}

KINDS = ("device", "shared", "host")
#: So long a way may take to return before the kernel is let go; too short, and a defect goes
#: unseen, but what is right never fails.
PATIENCE = 0.01
EVERY_CELL = os.environ.get("SYCL_EXT_SOAK") == "1"
#: On the GPU each way is tried every day on three of the queues, by turns, so that each queue meets
#: half of the ways, in each kind of USM.  The CPU device has the whole matrix every day.
QUEUES_OF_A_WAY = 3 if ON_GPU and not (environments.LONG or EVERY_CELL) else len(QUEUES)


def reason_to_fail(way: str, queue_name: str, kind: str) -> str:
    """Of a cell; `way` with "read ", "write " or "drop " before it."""
    for patterns, reason in EXPECTED_FAILURES.items():
        pairs = zip((way, queue_name, kind), patterns, strict=True)
        if all(
            any(fnmatchcase(name, one) for one in wanted.split(" | ")) for name, wanted in pairs
        ):
            return reason
    return ""


def exists(does: str, name: str, way: Way, queue_name: str, kind: str) -> bool:
    """Some ways are for memory that the host reaches, or that is in the default context."""
    apart = ON_GPU and kind == "device"
    if way.host and apart:
        return False
    if queue_name == "private" and way.default:
        # A copy: nothing to write to, and on an OpenCL GPU nothing that is made unasked.
        return does == "read" and not apart and not name.startswith(("C table", "tvm_ffi"))
    if "without stream" in name and queue_name == "own, kernel on device's":
        return False  # the queue that the producer shows is not that of its work
    if queue_name.startswith("foreign"):  # whoever made it also frees it
        return way.dtype == "int64" and does != "drop"
    return True


def cells(ways: dict[str, Way], does: str) -> list[Any]:
    """Every way on its queues, with the kinds by turns (``SYCL_EXT_SOAK=1``: every kind)."""
    found = []
    for first, (name, way) in enumerate(ways.items()):
        for second, queue_name in enumerate(QUEUES):
            if (second - first) % len(QUEUES) >= QUEUES_OF_A_WAY:
                continue
            for kind in KINDS if EVERY_CELL else [KINDS[(first + second) % 3]]:
                if exists(does, name, way, queue_name, kind):
                    reason = reason_to_fail(f"{does} {name}", queue_name, kind)
                    # A kernel that reads what was freed may end the process.
                    fails = pytest.mark.xfail(reason=reason, strict=True, run=does != "drop")
                    marks = [fails] if reason else []
                    id = f"{name}-{queue_name}-{kind}"
                    found.append(pytest.param(name, queue_name, kind, id=id, marks=marks))
    return found


@dataclass
class Outcome:
    """What became of a call while a kernel was pending."""

    result: Any = None
    problem: str = ""


def run(gate: Gate, call: Callable[[], Any], patience: float = PATIENCE) -> Outcome:
    """Make a call in another thread, which may wait for the kernel, and then open the gate."""
    outcome = Outcome()

    def record() -> None:
        try:
            outcome.result = call()
        except Exception:  # as text: a traceback would keep the memory alive
            outcome.problem = traceback.format_exc()

    thread = threading.Thread(target=record, daemon=True)
    thread.start()
    thread.join(patience)
    watched = gate.was_opened_by_the_watch
    gate.open()
    thread.join(60)
    if thread.is_alive():
        outcome.problem = "hangs, although the kernel is done"
    elif watched:
        outcome.problem = "waits for the kernel and holds the GIL"
    return outcome


def gate_for(kernels: Kernels, reason: str) -> tuple[Gate, float]:
    """A gate, and the patience: what fails today does not wait, and shall have the time for it."""
    if not reason:
        return kernels.gate(), PATIENCE
    return kernels.gate(watch_ms=200 if "GIL" in reason else WATCH_MS), 2


def check_read(name: str, queue_name: str, kind: str) -> str:
    """What is wrong, or nothing."""
    way = READS[name]
    tensor, on = new_tensor(queue_name, kind, way.dtype), queue(QUEUES[queue_name][1])
    kernels = kernels_in(queue_name == "private")
    gate, patience = gate_for(kernels, reason_to_fail(f"read {name}", queue_name, kind))
    with gate:
        kernels.fill(on, gate, tensor.ptr, NBYTES, NEW)
        outcome = run(gate, lambda: numbers(way.call(tensor)), patience)
        on.wait()
    if not outcome.problem and outcome.result != {NEW}:
        outcome.problem = f"stale: {outcome.result}"
    return outcome.problem


def check_write(name: str, queue_name: str, kind: str) -> str:
    """What is wrong, or nothing."""
    way = WRITES[name]
    tensor, on = new_tensor(queue_name, kind), queue(QUEUES[queue_name][1])
    out = sx.zeros(NBYTES // 8, "int64", usm_type="host", device=queue(QUEUES[queue_name][0]))
    out.sycl_queue.wait()
    kernels = kernels_in(queue_name == "private")
    gate, patience = gate_for(kernels, reason_to_fail(f"write {name}", queue_name, kind))
    with gate:
        kernels.copy(on, gate, out.ptr, tensor.ptr, NBYTES)
        outcome = run(gate, lambda: way.call(tensor), patience)
        on.wait()
    if not outcome.problem and at(out.ptr) != {OLD}:
        outcome.problem = f"the kernel saw what was written later: {at(out.ptr)}"
    if not outcome.problem and numbers(tensor.to_numpy()) != {OTHER}:
        outcome.problem = f"not written: {numbers(tensor.to_numpy())}"
    return outcome.problem


def check_drop(name: str, queue_name: str, kind: str, nbytes: int) -> str:
    """What is wrong, or nothing."""
    way = DROPS[name]
    tensor, on = new_tensor(queue_name, kind, nbytes=nbytes), queue(QUEUES[queue_name][1])
    where = queue(QUEUES[queue_name][0])
    out = sx.zeros(NBYTES // 8, "int64", usm_type="host", device=where)
    address, holders = tensor.ptr, [way.call(tensor)]
    del tensor
    on.wait()
    where.wait()
    kernels = kernels_in(queue_name == "private")

    def drop() -> str:
        holders.clear()
        again = [sx.empty(nbytes // 8, "int64", usm_type=kind, device=where) for _ in range(4)]
        if any(t.ptr < address + nbytes and address < t.ptr + nbytes for t in again):
            return "the memory was given to somebody else"
        return "" if is_usm(on, address) else "the memory was freed"

    gate, _ = gate_for(kernels, reason_to_fail(f"drop {name}", queue_name, kind))
    with gate:
        kernels.copy(on, gate, out.ptr, address, NBYTES)
        outcome = run(gate, drop, 30)
        on.wait()
    if not outcome.problem and at(out.ptr) != {OLD}:
        outcome.problem = f"the kernel saw other bytes: {at(out.ptr)}"
    return outcome.problem or outcome.result
