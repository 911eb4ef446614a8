# SPDX-License-Identifier: Apache-2.0
"""Processes that a row starts: they end with work pending, or open memory of the first one.

A row starts them by `play`, which waits for their end.
"""

import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import dpctl

import sycl_ext as sx
from sycl_ext_hardware.late import is_pending, memory_of
from sycl_ext_hardware.processes import command_of, last_line
from sycl_ext_hardware.samples import DidNotHoldError, as_numbers, difference, numbers
from sycl_ext_hardware.setup import NEW, OLD, OTHER, Setup

#: Bytes of the memory that processes share.
NBYTES = 1 << 20


def play(setup: Setup, scene: str, limit: float, line: str = "") -> str:
    """Run a scene, and return what it said; complain if it did not come to its end."""
    order = {
        "scene": scene,
        "device": setup.device.filter_string,
        "quick": setup.quick,
        "kernels": setup.kernels,
        "longer": setup.longer,
    }
    command = command_of("scenes", order)
    try:
        done = subprocess.run(
            command, input=line, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise DidNotHoldError(f"the process did not end within {limit:g} s") from error
    if done.returncode:
        last = last_line(done.stderr) or "it said nothing"
        raise DidNotHoldError(f"the process ended with exit code {done.returncode}: {last}")
    return done.stdout.strip()


# ---- with work pending ---------------------------------------------------------------------------

#: Starts work, and adds the objects to the list that live until the interpreter ends.
Scene = Callable[[Setup, list[Any]], dpctl.SyclEvent]


def work_on_a_tensor(setup: Setup, kept: list[Any]) -> dpctl.SyclEvent:
    """Leave a kernel pending, or long copies."""
    tensor, source = (setup.tensor(setup.kinds[0], numbers(OLD, NBYTES)) for _ in "ab")
    kept.extend((tensor, source))
    return setup.late.submit(tensor.sycl_queue, memory_of(tensor), memory_of(source))


def a_copy(setup: Setup, kept: list[Any]) -> dpctl.SyclEvent:
    """Leave a copy of ours pending behind work."""
    event = work_on_a_tensor(setup, kept)
    kept.append(sx.empty_like(kept[0]).copy_from(kept[0], wait=False))
    return event


def an_export(setup: Setup, kept: list[Any]) -> dpctl.SyclEvent:
    """Leave a capsule that a consumer's queue is to read."""
    event = work_on_a_tensor(setup, kept)
    consumer = setup.new_queue("in-order")
    kept.extend((kept[0].__dlpack__(stream=consumer, max_version=(1, 0)), consumer))
    return event


def a_thread(setup: Setup, kept: list[Any]) -> dpctl.SyclEvent:
    """Leave a thread that copies without an end."""
    event = work_on_a_tensor(setup, kept)
    tensor = kept[0]

    def copy() -> None:
        while True:
            tensor.to_numpy(copy=True)

    threading.Thread(target=copy, daemon=True).start()
    return event


def dropped(setup: Setup, kept: list[Any]) -> dpctl.SyclEvent:
    """Leave memory that was dropped under work."""
    event = work_on_a_tensor(setup, kept)
    kept.clear()
    return event


#: Things that are pending when the process ends.
LEAVES: dict[str, Scene] = {
    "work on a tensor": work_on_a_tensor,
    "a copy with wait=False": a_copy,
    "an export to a consumer's queue": an_export,
    "a thread that copies": a_thread,
    "memory dropped under work": dropped,
}


# ---- another process -----------------------------------------------------------------------------


def peer() -> None:
    """Open a handle, compare the elements with NEW, and write OTHER."""
    tensor = sx.ipc.open(pickle.loads(bytes.fromhex(sys.stdin.readline())))
    data = as_numbers(tensor.to_numpy(copy=True))
    print(difference(data, numbers(NEW, data.nbytes)) or "the same", flush=True)
    tensor.copy_from(numbers(OTHER, data.nbytes))
    tensor.wait()


def main(order: dict[str, Any]) -> list[Any]:
    """Play a scene, say whether its work is pending, and return objects to keep until the end."""
    setup = Setup(
        sx.device(order["device"]),
        quick=order["quick"],
        kernels=order["kernels"],
        longer=order["longer"],
    )
    if order["scene"] == "peer":
        peer()
        return []
    kept: list[Any] = []
    event = LEAVES[order["scene"]](setup, kept)
    print("pending" if is_pending(event) else "done", flush=True)
    return kept
