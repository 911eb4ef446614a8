# SPDX-License-Identifier: Apache-2.0
"""The tests of a device.

`probe` runs it in a process of its own, since a device may crash or hang in each test.  A test
returns what a user may like to know of it, raises `Skip` where a device cannot do such a thing, and
any other exception where it should have.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NoReturn, TypeAlias

import sycl_ext as sx
from sycl_ext._negotiation.kinds import ALLOCATED, UsmType

#: The data of the short tests.
DATA = bytes(range(256)) * 16
#: The data of the measured bandwidth, if the device has room for it.
LARGE = 32 << 20
#: How often each copy is measured; the fastest counts.
REPEATS = 3
#: Seconds of work that Ctrl-C is to interrupt the wait for, and the pause before it.
PENDING, PAUSE = 3.0, 0.3
#: How often Ctrl-C is pressed at most: other work of the machine may delay it until all is done.
PRESSES = 3

#: How a device is partitioned: the first of these that it allows.
PARTITIONS: dict[str, str | list[int]] = {
    "tiles": "next_partitionable",
    "parts of one compute unit": [1, 1],
}

Test: TypeAlias = Callable[[sx.Device], "str | list[dict[str, Any]] | None"]


class Skip(Exception):  # noqa: N818 - no error
    """The device, or this machine, has nothing of that kind."""


def skip(why: str) -> NoReturn:
    """Leave a test out."""
    raise Skip(why)


def own_kinds(device: sx.Device) -> list[UsmType]:
    """Return the kinds of USM that a driver allocates."""
    return [kind for kind in ALLOCATED if kind in device.usm_types]


def tensors(device: sx.Device) -> Iterator[Any]:
    """Yield a tensor with DATA for each kind of USM of the device."""
    for kind in own_kinds(device):
        yield sx.empty(len(DATA), "uint8", usm_type=kind, device=device).copy_from(DATA)


def expect(found: object, wanted: object, what: str) -> None:
    """Complain about a value."""
    if found != wanted:
        raise AssertionError(what)


# ---- tests that take no time ---------------------------------------------------------------------


def allocate(device: sx.Device) -> None:
    """Allocate each kind of USM."""
    for kind in own_kinds(device):
        expect(sx.empty(1 << 20, "uint8", usm_type=kind, device=device).usm_type, kind, kind)


def copy(device: sx.Device) -> None:
    """Copy there and back."""
    for tensor in tensors(device):
        expect(tensor.to_numpy(copy=True).tobytes(), DATA, f"{tensor.usm_type} USM lost its bytes")


def export(device: sx.Device) -> None:
    """Hand out capsules, old and new."""
    for tensor in tensors(device):
        for version in (None, (1, 0)):
            if tensor.__dlpack__(max_version=version) is None:
                raise AssertionError("no capsule")


def import_(device: sx.Device) -> None:
    """Take a capsule in."""
    for tensor in tensors(device):
        taken = sx.from_dlpack(tensor.__dlpack__(max_version=(1, 0)))
        expect(taken.ptr, tensor.ptr, f"{tensor.usm_type} USM came back at another address")


def with_dpnp(device: sx.Device) -> None:
    """Let dpnp view the memory, and take it back."""
    import dpnp

    for tensor in tensors(device):
        taken = sx.from_dlpack(dpnp.from_dlpack(tensor))
        expect(taken.ptr, tensor.ptr, f"dpnp moved {tensor.usm_type} USM to another address")
        expect(taken.to_numpy(copy=True).tobytes(), DATA, "the bytes are not the same")


def with_torch(device: sx.Device) -> None:
    """Let torch have the bytes."""
    import torch

    for tensor in tensors(device):
        found = sx.exchange(tensor, torch)
        expect(bytes(found.cpu().tolist()), DATA, f"the bytes of {tensor.usm_type} USM are others")


# ---- tests of the full self-test -----------------------------------------------------------------


def bandwidth(device: sx.Device) -> list[dict[str, Any]]:
    """Copy a large block in each direction, and do the same with one plain memcpy command."""
    import dpctl.memory
    import numpy as np

    nbytes = min(LARGE, device.sycl_device.max_mem_alloc_size // 4)
    host = np.arange(nbytes, dtype="uint8")
    found = []
    for kind in own_kinds(device):
        here = sx.empty(nbytes, "uint8", usm_type=kind, device=device)
        there = sx.empty(nbytes, "uint8", usm_type=kind, device=device)
        back = np.empty_like(host)
        queue = here.sycl_queue
        memory, other = dpctl.memory.as_usm_memory(here), dpctl.memory.as_usm_memory(there)
        ways: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
            f"host memory to {kind} USM": (
                partial(here.copy_from, host),
                partial(queue.memcpy, memory, host, nbytes),
            ),
            f"{kind} USM to {kind} USM": (
                partial(there.copy_from, here),
                partial(queue.memcpy, other, memory, nbytes),
            ),
            f"{kind} USM to host memory": (
                partial(there.to_numpy, copy=True),
                partial(queue.memcpy, back, other, nbytes),
            ),
        }
        for way, (ours, plain) in ways.items():
            seconds, plain_seconds = fastest(ours, queue), fastest(plain, queue)
            found.append(
                {
                    "what": way,
                    "nbytes": nbytes,
                    "gb_per_s": round(nbytes / seconds / 1e9, 3),
                    "plain_gb_per_s": round(nbytes / plain_seconds / 1e9, 3),
                }
            )
        expect(bool((back == host).all()), True, f"{kind} USM lost its bytes")
    return found


def fastest(function: Callable[[], object], queue: Any) -> float:
    """Return the seconds that a call and the work it submits take at best."""
    times = []
    for _ in range(REPEATS + 1):  # the first one touches the memory
        start = time.perf_counter()
        function()
        queue.wait()
        times.append(time.perf_counter() - start)
    return max(min(times[1:]), 1e-9)


def sub_devices(device: sx.Device) -> str:
    """Use the tiles of a device, or two parts of it."""
    what, parts = partitioned(device)
    for part in parts:
        allocate(part)
        copy(part)
        kind = own_kinds(part)[0]
        tensor = sx.empty(len(DATA), "uint8", usm_type=kind, device=part).copy_from(DATA)
        moved = tensor.to_device(device, copy=True)
        expect(
            moved.to_numpy(copy=True).tobytes(), DATA, "a copy to the root device is not the same"
        )
    return f"{len(parts)} {what}"


def partitioned(device: sx.Device) -> tuple[str, tuple[sx.Device, ...]]:
    """Return what the device is partitioned into, and the sub-devices."""
    refused = ""
    for what, partition in PARTITIONS.items():
        try:
            return what, device.create_sub_devices(partition)
        except (sx.SyclError, BufferError, ValueError) as error:
            refused = str(error)
    raise Skip(f"it cannot be partitioned: {refused}")


#: A process that opens a handle, checks the bytes, and changes them.
PEER = """
import pickle, sys
print("ready", flush=True)
handle = pickle.loads(bytes.fromhex(sys.stdin.readline()))
import sycl_ext as sx
tensor = sx.ipc.open(handle)
data = tensor.to_numpy(copy=True)
tensor.copy_from(data[::-1].copy())
print("done", bytes(data[:256]) == bytes(range(256)), tensor.device.filter_string, flush=True)
"""


def second_process(device: sx.Device) -> str:
    """Let another process open memory, and see what it writes."""
    try:
        tensor = sx.ipc.empty(len(DATA), "uint8", device=device).copy_from(DATA)
    except BufferError as error:
        raise Skip(str(error)) from error
    command = [sys.executable, "-c", PEER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as peer:
        handle = sx.ipc.handle(tensor, peer=peer.pid)
        said, errors = peer.communicate(pickle.dumps(handle).hex() + "\n")
    if "done True" not in said:
        lines = errors.strip().splitlines() or [f"it saw other bytes, and said {said.split()}"]
        raise RuntimeError(f"the other process: {lines[-1]}")
    expect(tensor.to_numpy(copy=True).tobytes(), DATA[::-1], "what it wrote is not seen here")
    return "device USM" if handle.mechanism == "sycl" else "shared host memory"


def interrupt(device: sx.Device) -> str:
    """Press Ctrl-C while the device works."""
    import dpctl.memory

    nbytes = min(LARGE, device.sycl_device.max_mem_alloc_size // 4)
    kind = own_kinds(device)[0]
    # In order: the last command ends after the others.
    queue = dpctl.SyclQueue(device.sycl_context, device.sycl_device, property="in_order")
    source = sx.zeros(nbytes, "uint8", usm_type=kind, device=device)
    target = sx.zeros(nbytes, "uint8", usm_type=kind, device=queue)
    memory, other = dpctl.memory.as_usm_memory(source), dpctl.memory.as_usm_memory(target)

    def submit() -> Any:
        return queue.memcpy_async(other, memory, nbytes)

    for left in reversed(range(PRESSES)):
        try:
            return f"after {press_while_working(submit, target):.2f} s"
        except (Skip, AssertionError):
            if not left:
                raise
    raise AssertionError("unreachable")


def press_while_working(submit: Callable[[], Any], target: sx.Tensor) -> float:
    """Press Ctrl-C during a wait for commands, and return the seconds until the wait ended."""
    queue = target.sycl_queue
    one = fastest(lambda: submit().wait(), queue)
    start = time.perf_counter()
    events = [submit() for _ in range(min(round(PENDING / one), 5000))]
    if time.perf_counter() - start > PENDING / 2 or not _still_running(events[-1]):
        queue.wait()
        raise Skip("a command is done when it is submitted, so nothing is waited for")
    pressed = []

    def press() -> None:
        time.sleep(PAUSE)
        pressed.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored, behind nohup
    presser = threading.Thread(target=press)
    back = early = 0.0
    try:
        presser.start()
        target.to_numpy(copy=True)
        early = time.perf_counter()
        presser.join()
        time.sleep(PAUSE)
    except KeyboardInterrupt:
        back = time.perf_counter()
    presser.join()
    running = _still_running(events[-1])
    queue.wait()
    if early and early < pressed[0]:
        raise Skip("the work was done before Ctrl-C")
    if not back:
        raise AssertionError("Ctrl-C did nothing")
    if early or not running:
        raise AssertionError("Ctrl-C ended the wait only when the work was done")
    return back - pressed[0]


def _still_running(event: Any) -> bool:
    return "complete" not in str(event.execution_status).rpartition(".")[2]


#: The tests after each import, always and in the full self-test.
SHORT: dict[str, dict[str, Test]] = {
    "sycl_ext": {"allocate": allocate, "copy": copy, "export": export, "import": import_},
    "dpnp": {"dpnp": with_dpnp},
    "torch": {"torch": with_torch},
}
FULL: dict[str, dict[str, Test]] = {
    **SHORT,
    "sycl_ext": {
        **SHORT["sycl_ext"],
        "bandwidth": bandwidth,
        "sub-devices": sub_devices,
        "second process": second_process,
        "Ctrl-C": interrupt,
    },
}
