# SPDX-License-Identifier: Apache-2.0
"""Processes of `multiprocessing` that send arrays and end: ``python pools.py HOW DEVICE``.

Each function prints what the arrays hold in the process that has received them.
"""

import multiprocessing
import sys
import time
from concurrent.futures import ProcessPoolExecutor

import sycl_ext as sx
from sycl_ext._ipc import reductions

CONTEXT = multiprocessing.get_context("spawn")
REGISTERED = {"initializer": sx.ipc.register_multiprocessing}


def full(value, device):
    return sx.ipc.empty(3, "int32", device=device).fill(value)


def send(sender, device, linger):
    sx.ipc.register_multiprocessing()
    reductions._LINGER = linger
    sender.send(full(4, device))


def contents(arrays):
    return [array.tolist() for array in arrays]


def results_of_a_pool_are_arguments_of_the_next(device):
    """The processes that made the memory have ended."""
    with CONTEXT.Pool(2, **REGISTERED) as pool:
        made = pool.starmap(full, [(1, device), (2, device)])
        pool.close()
        pool.join()
    with CONTEXT.Pool(1, **REGISTERED) as pool:
        print(pool.map(contents, [made]))
    print(sx.ipc.pack(made[0]).how, end=" ")
    try:
        print(sx.ipc.handle(made[0]).mechanism)
    except BufferError as error:
        print(error)


def workers_of_one_task(device):
    """Each ends when it has sent its result."""
    with CONTEXT.Pool(2, maxtasksperchild=1, **REGISTERED) as pool:
        print(contents(pool.starmap(full, [(i, device) for i in range(5)], chunksize=1)))


def results_of_an_executor(device):
    """They are arguments of the next one as well."""
    with ProcessPoolExecutor(1, mp_context=CONTEXT, **REGISTERED) as pool:
        made = pool.submit(full, 1, device).result()
    with ProcessPoolExecutor(1, mp_context=CONTEXT, **REGISTERED) as pool:
        print(pool.submit(contents, [made]).result())


def received_after_a_while(device):
    receiver, sender = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=send, args=(sender, device, 60))
    process.start()
    assert receiver.poll(60)
    time.sleep(0.5)
    print(process.is_alive(), contents([receiver.recv()]))
    process.join()


def never_received(device):
    receiver, sender = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=send, args=(sender, device, 0.2))
    process.start()
    process.join()
    try:
        receiver.recv()
    except BufferError as error:
        print(error)


if __name__ == "__main__":
    sx.ipc.register_multiprocessing()
    globals()[sys.argv[1]](sys.argv[2])
