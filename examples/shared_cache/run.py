# SPDX-License-Identifier: Apache-2.0
"""A key-value cache that three processes share, with eviction: ``python run.py [device]``.

One process has the memory and the index. Two workers put blocks of keys and values of a language
model there, and take them out, in place: messages have keys and numbers of slots, never data. If
the cache is full, the block that was used least recently is evicted, unless a worker uses it. A
worker that is killed gives back what it used. Needs ``sycl_ext[cpu]``.
"""

import contextlib
import multiprocessing
import os
import random
import signal
import sys
from collections import Counter, OrderedDict
from multiprocessing.connection import Connection, wait
from typing import Any

import numpy as np

import sycl_ext as sx

SLOTS, TOKENS, WIDTH = 8, 16, 64  # blocks, and the size of each
PROMPTS, ROUNDS = 20, 200


class Cache:
    """The index: which block is in which slot, who uses it, and who fills it."""

    def __init__(self, workers: list[Connection]) -> None:
        self.slots: OrderedDict[str, int] = OrderedDict()  # least recently used first
        self.free = list(range(SLOTS))
        self.used: dict[Connection, Counter[str]] = {worker: Counter() for worker in workers}
        self.filling: dict[str, Connection] = {}
        self.waiting: list[tuple[Connection, str]] = []  # until somebody has filled the block
        self.counts: Counter[str] = Counter()

    def take(self, worker: Connection, key: str) -> None:
        """Send the worker a slot, and whether the block is there; else the worker fills it."""
        if key in self.filling:
            self.waiting.append((worker, key))
            return
        hit = key in self.slots
        self.counts["hits" if hit else "misses"] += 1
        if not hit:
            self.slots[key] = self.free.pop() if self.free else self.evict()
            self.filling[key] = worker
        self.slots.move_to_end(key)
        self.used[worker][key] += 1
        with contextlib.suppress(ConnectionError):  # it has ended, and `serve` will see that
            worker.send((self.slots[key], hit))

    def evict(self) -> int:
        """Return the slot of the block that was used least recently, among those not in use."""
        in_use = {key for keys in self.used.values() for key in +keys}
        key = next(key for key in self.slots if key not in in_use)
        self.counts["evictions"] += 1
        return self.slots.pop(key)

    def give_back(self, worker: Connection, key: str) -> None:
        """End a use. The block is complete if this worker had to fill it."""
        self.used[worker][key] -= 1
        self.filling.pop(key, None)
        self.answer_waiting()

    def forget(self, worker: Connection) -> None:
        """End all uses of a worker, and drop the blocks that it did not fill to the end."""
        del self.used[worker]
        for key in [key for key, filler in self.filling.items() if filler is worker]:
            del self.filling[key]
            self.free.append(self.slots.pop(key))
        self.waiting = [request for request in self.waiting if request[0] is not worker]
        self.answer_waiting()

    def answer_waiting(self) -> None:
        """Try again what had to wait."""
        requests, self.waiting = self.waiting, []
        for worker, key in requests:
            self.take(worker, key)


def serve(cache: Cache) -> None:
    """Answer the workers until each has ended."""
    while cache.used:
        for ready in wait(list(cache.used)):
            assert isinstance(ready, Connection)
            try:
                verb, key = ready.recv()
                getattr(cache, verb)(ready, key)
            except (EOFError, ConnectionError):  # it has ended, in whatever way
                cache.forget(ready)


def block_of(prompt: int) -> Any:
    """Compute the keys and values of a prompt, which takes a model some time."""
    return np.random.default_rng(prompt).random((TOKENS, WIDTH), "float32")


def work(server: Connection, handle: sx.ipc.Handle, doomed: bool) -> None:
    """Use blocks of random prompts; each is as it was computed, whoever did that."""
    memory = sx.ipc.open(handle)
    choice = random.Random(os.getpid())
    for number in range(ROUNDS):
        prompt = choice.randrange(PROMPTS)
        server.send(("take", str(prompt)))
        slot, hit = server.recv()
        if doomed and number == ROUNDS // 2:
            os.kill(os.getpid(), signal.SIGKILL)  # with a slot that it uses, or fills
        if not hit:
            memory[slot].copy_from(block_of(prompt))
        assert np.array_equal(memory[slot].to_numpy(), block_of(prompt))
        server.send(("give_back", str(prompt)))


def main() -> None:
    """Start the workers, serve them, and print what happened."""
    device = sys.argv[1] if len(sys.argv) > 1 else None
    memory = sx.ipc.empty((SLOTS, TOKENS, WIDTH), "float32", device=device)
    handle = sx.ipc.handle(memory)
    spawn = multiprocessing.get_context("spawn")
    here, processes = [], []
    for doomed in (True, False):
        mine, theirs = spawn.Pipe()
        processes.append(spawn.Process(target=work, args=(theirs, handle, doomed)))
        processes[-1].start()
        theirs.close()  # so that the pipe ends with the worker
        here.append(mine)
    cache = Cache(here)
    serve(cache)
    for process in processes:
        process.join()
    print("workers ended with", [process.exitcode for process in processes])
    print(f"{handle.mechanism}: {memory.nbytes} bytes for {len(cache.slots)} blocks in use or kept")
    print(", ".join(f"{count} {name}" for name, count in sorted(cache.counts.items())))


if __name__ == "__main__":
    main()
