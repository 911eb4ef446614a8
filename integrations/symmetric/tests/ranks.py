# SPDX-License-Identifier: Apache-2.0
"""Ranks for the tests of groups and symmetric memory: processes, or a group of a user."""

import contextlib
import multiprocessing
from types import SimpleNamespace

from sycl_ext_symmetric import groups, symmetric

#: Memory of a rank, as that of `shared_with`.
WITH_MEMORY = 'memory = symmetric(4, "int32", group, device="cpu")\n'


def play(code, group, pipe):
    """Run the code of a rank, which has its group, and a pipe to rank 0."""
    import os
    import signal

    import sycl_ext as sx

    names = {"group": group, "pipe": pipe, "os": os, "signal": signal, "sx": sx}
    exec(code, {**names, "symmetric": symmetric})


@contextlib.contextmanager
def other_ranks(*codes, timeout=60):
    """Yield rank 0 of a group, and the process and the pipe of each other rank."""
    spawn = multiprocessing.get_context("spawn")
    mine, *theirs = groups(len(codes) + 1, timeout=timeout)
    started = []
    for code in codes:
        here, there = spawn.Pipe()
        process = spawn.Process(target=play, args=(code, theirs.pop(0), there))
        process.start()
        started.append(SimpleNamespace(process=process, pipe=here))
    del there
    try:
        yield mine, started
    finally:
        for rank in started:
            rank.pipe.close()
            rank.process.join(60)
            rank.process.kill()


def shared_with(group, **how):
    return symmetric(4, "int32", group, device="cpu", **how)


def ended_well(rank):
    rank.process.join(60)
    assert rank.process.exitcode == 0


class Recorded:
    """A group that a user wrote: of one rank."""

    rank, size = 0, 1

    def all_gather(self, data):
        return [data]
