# SPDX-License-Identifier: Apache-2.0
"""Two processes that work on one array in turn: ``python run.py [device]``.

Each process submits its copy and sends a handle, with or without an event. Where the device has
events between processes, neither waits for its own copy, nor for that of the other one.
"""

import multiprocessing
import sys
from multiprocessing.connection import Connection

import numpy as np

import sycl_ext as sx

LENGTH, ROUNDS = 1 << 20, 5


def take(connection: Connection) -> sx.Tensor:
    """Return the array that the other process sends; its work comes after that of the other."""
    return sx.ipc.open(connection.recv())


def write(array: sx.Tensor, number: int) -> sx.ipc.Handle:
    """Submit a copy of the number into the array, and return a handle for the other process."""
    numbers = sx.full(LENGTH, number, "int32", device=array.device)
    array.copy_from(numbers, wait=False)
    return sx.ipc.handle(array)


def other(connection: Connection) -> None:
    """Read the array in each round, and write the negative number into it."""
    for number in range(1, ROUNDS + 1):
        array = take(connection)
        seen = sx.empty(LENGTH, "int32", device=array.device)
        seen.copy_from(array, wait=False)
        handle = write(array, -number)
        connection.send(handle)  # and keep it until the other process has opened it
        if not (seen.to_numpy() == number).all():
            sys.exit(f"round {number}: {seen[:3].tolist()}")
        connection.recv()


def main(device: str) -> None:
    """Start the other process, and write a number in each round."""
    print(f"events: {sx.ipc.why_no_events(device) or 'yes'}")
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=other, args=(there,))
    process.start()
    array = sx.ipc.empty(LENGTH, "int32", device=device)
    kept = sx.ipc.handle(array)  # so that the handles of the other process can be opened
    for number in range(1, ROUNDS + 1):
        handle = write(array, number)
        here.send(handle)
        array = take(here)
        last = array.to_numpy()
        here.send("opened")
        if not np.all(last == -number):
            sys.exit(f"round {number}: {last[:3]}")
    process.join()
    print(f"{ROUNDS} rounds: right")
    del kept


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "cpu")
