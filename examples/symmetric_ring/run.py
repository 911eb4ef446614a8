# SPDX-License-Identifier: Apache-2.0
"""Ranks pass tensors around a ring through symmetric memory, without copies through a launcher.

Each rank reads the block of its neighbour in place, until all have seen the numbers of all. Start::

    mpiexec -n 4 python run.py
    torchrun --nproc-per-node 4 run.py
    python run.py --ranks 4

With ``--kill 2``, rank 2 is killed in the middle, and the others report that and end. Needs
``sycl_ext[cpu]``, ``sycl-ext-symmetric``, and mpi4py or torch for their launchers.
"""

import argparse
import os
import signal
from typing import Any

import numpy as np

from sycl_ext_symmetric import groups, symmetric

LENGTH = 1 << 20


def ring(memory: Any, doomed: int | None) -> float:
    """Return the sum over the numbers of all ranks, which come by one after the other.

    A rank reads one half of a neighbour's block, while the neighbour writes to the other half.
    """
    mine, left = memory.mine, memory.tensors[memory.rank - 1]
    mine[0].fill(memory.rank + 1)
    total = np.full(LENGTH, memory.rank + 1, "float32")
    for step in range(1, memory.size):
        memory.barrier()
        if step == memory.size // 2 and memory.rank == doomed:
            os.kill(os.getpid(), signal.SIGKILL)
        mine[step % 2].copy_from(left[(step - 1) % 2])
        total += mine[step % 2].to_numpy()
    memory.barrier()  # nobody leaves while others read
    return float(total.mean())


def work(group: Any, device: str | None, doomed: int | None) -> None:
    """Run one rank."""
    memory = symmetric((2, LENGTH), "float32", group, device=device, timeout=60)
    try:
        mean = ring(memory, doomed)
    except (RuntimeError, TimeoutError) as error:  # BrokenBarrierError, or an error of torch
        say(f"rank {memory.rank} of {memory.size} stops: {error}")
        os._exit(3)  # MPI and torch would wait for the rank that has ended
    say(f"rank {memory.rank} of {memory.size}: mean {mean} by {memory.mechanism}")


def say(line: str) -> None:
    """Print a line at once, so that those of the ranks do not mix."""
    print(f"{line}\n", end="", flush=True)


def with_torch(device: str | None, doomed: int | None) -> None:
    """Run a rank that torchrun has started."""
    import torch.distributed as dist

    dist.init_process_group("gloo")
    work(dist.group.WORLD, device, doomed)
    dist.destroy_process_group()


def with_mpi(device: str | None, doomed: int | None) -> None:
    """Run a rank that mpiexec has started."""
    from mpi4py import MPI

    work(MPI.COMM_WORLD, device, doomed)


def with_processes(ranks: int, device: str | None, doomed: int | None) -> None:
    """Start the ranks with multiprocessing."""
    import multiprocessing

    spawn = multiprocessing.get_context("spawn")
    started = [spawn.Process(target=work, args=(rank, device, doomed)) for rank in groups(ranks)]
    for process in started:
        process.start()
    for process in started:
        process.join()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device")
    parser.add_argument("--kill", type=int)
    parser.add_argument("--ranks", type=int)
    options = parser.parse_args()
    if options.ranks:
        with_processes(options.ranks, options.device, options.kill)
    elif "TORCHELASTIC_RUN_ID" in os.environ:
        with_torch(options.device, options.kill)
    else:
        with_mpi(options.device, options.kill)
