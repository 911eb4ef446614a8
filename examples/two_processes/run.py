# SPDX-License-Identifier: Apache-2.0
"""Use a dpnp array of this process in another one: ``python run.py [device [MB]]``.

For each way to send the array, prints the bytes that are sent between the processes, and the time
until the other process answers with the last element. Needs sycl-ext-dask, and dpnp.
"""

import multiprocessing
import pickle
import statistics
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

import sycl_ext as sx  # isort: skip (before dpctl, so that the SYCL runtime finds the CPU device)

import dpnp
import numpy as np
from distributed import Client, LocalCluster
from distributed.protocol import serialize

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "cpu"
MEGABYTES = float(sys.argv[2]) if len(sys.argv) > 2 else 64
ROUNDS = 15


def use(x: Any, device: str) -> float:
    """Return the last element of the received array, as an array on the device."""
    if isinstance(x, np.ndarray):
        x = dpnp.asarray(x, device=device)
    return float(sx.from_dlpack(x)[-1:].to_numpy()[0])


def serve(connection: Connection, device: str) -> None:
    """Answer each message, in the other process."""
    while data := connection.recv_bytes():
        connection.send(use(pickle.loads(data), device))


def median(once: Callable[[], float], expected: float) -> str:
    """Return the milliseconds of a round."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        assert once() == expected
        times.append(time.perf_counter() - start)
    return f"{1e3 * statistics.median(times[1:]):.3g} ms"


def size(count: int) -> str:
    """Return a number of bytes in words."""
    return f"{count} B" if count < 10_000 else f"{count / 1e6:.1f} MB"


def made_on(device: sx.Device) -> tuple[Any, Any]:
    """Return a dpnp array, and an array with the same numbers that other processes can open."""
    numbers = np.arange(int(MEGABYTES * 1e6) // 4, dtype="float32")
    x = dpnp.empty(numbers.shape, dtype="float32", device=device.filter_string)
    sx.from_dlpack(x).copy_from(numbers)
    try:
        sx.ipc.handle(x)
        return x, x
    except BufferError:  # on a CPU device, only memory that was allocated for sharing can be shared
        return x, sx.ipc.empty(numbers.shape, "float32", device=device).copy_from(numbers)


def send_to_process(x: Any, shared: Any, last: float, device: str) -> None:
    """Send the array in each way to a process of multiprocessing."""
    ways: dict[str, Callable[[], bytes]] = {
        "handle": lambda: bytes(ForkingPickler.dumps(shared)),
        "pickle of the dpnp array": lambda: pickle.dumps(x, 5),
        "pickle of a NumPy array": lambda: pickle.dumps(dpnp.asnumpy(x), 5),
    }
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    process = spawn.Process(target=serve, args=(there, device))
    process.start()
    for way, make in ways.items():

        def once(make: Callable[[], bytes] = make) -> float:
            here.send_bytes(make())
            return float(here.recv())

        print(f"| {way} | {size(len(make()))} | {median(once, last)} |", flush=True)
    here.send_bytes(b"")
    process.join()


def send_to_worker(x: Any, last: float, device: str) -> None:
    """Send the array in each way to a worker of Dask."""
    ways: dict[str, Callable[[], Any]] = {
        "Dask, dpnp arrays": lambda: x,
        "Dask, to NumPy by hand": lambda: dpnp.asnumpy(x),
    }
    workers = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**workers) as cluster, Client(cluster) as client:
        for way, make in ways.items():
            frames = serialize(make())[1]
            sent = sum(memoryview(frame).nbytes for frame in frames)

            def once(make: Callable[[], Any] = make) -> float:
                (future,) = client.scatter([make()], hash=False)
                return float(client.submit(use, future, device, pure=False).result())

            print(f"| {way} | {size(sent)} | {median(once, last)} |", flush=True)


def main() -> None:
    """Send the array in each way."""
    device = sx.device(DEVICE)
    name = device.filter_string
    sx.ipc.register_multiprocessing("dpnp")
    sx.pickling.register("dpnp")
    x, shared = made_on(device)
    last = float(dpnp.asnumpy(x[-1:])[0])
    print("| way | between processes | time |\n|---|---|---|")
    send_to_process(x, shared, last, name)
    send_to_worker(x, last, name)


if __name__ == "__main__":
    main()
